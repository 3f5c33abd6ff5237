/* Wrong arguments give TG_MISUSE, and never anything worse. */
#include "common.h"

static const uint8_t FILE_BYTES[] = "\x36\0\0\0\0\0\0\0{\"w\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}01234567";
#define FILE_LEN (sizeof FILE_BYTES - 1)

static uint64_t storage[256];

static tg_input right(void) {
    tg_input input;
    memset(&input, 0, sizeof input);
    input.format = TG_SAFETENSORS;
    input.prefix = FILE_BYTES;
    input.prefix_len = FILE_LEN;
    input.file_len = FILE_LEN;
    input.storage = storage;
    input.storage_len = sizeof storage;
    return input;
}

static void misused(tg_input input, const char *what) {
    const tg_file *file = (const tg_file *)storage;
    tg_error error;
    MUST(tg_open(&input, &file, &error) == TG_MISUSE, what);
    MUST(error.code[0] == '\0' || strcmp(error.code, "TG-STORAGE") == 0, what);
}

static void opening(void) {
    tg_input input = right();
    tg_limit limit = {99, 1};
    const tg_file *file;
    tg_error error;
    void *odd = (char *)&storage[8] + 1;
    MUST(tg_open(&input, &file, NULL) == TG_OK && file != NULL, "an error need not be asked for");
    MUST(tg_open(NULL, &file, &error) == TG_MISUSE, "no input");
    MUST(tg_open(&input, NULL, &error) == TG_MISUSE, "no place for the file");
    MUST(tg_open((const tg_input *)odd, &file, &error) == TG_MISUSE, "an input at an odd address");
    MUST(tg_open(&input, &file, (tg_error *)odd) == TG_MISUSE, "an error at an odd address");
    MUST(tg_open(&input, (const tg_file **)odd, &error) == TG_MISUSE, "a file at an odd address");
    MUST(tg_open(&input, (const tg_file **)(void *)&storage[3], &error) == TG_MISUSE, "a file inside the storage");
    MUST(tg_open(&input, &file, (tg_error *)(void *)&storage[3]) == TG_MISUSE, "an error inside the storage");
    input.format = 0, misused(input, "no format"), input = right();
    input.format = 4, misused(input, "no such format"), input = right();
    input.prefix = NULL, misused(input, "no bytes"), input = right();
    input.prefix_len = FILE_LEN + 1, misused(input, "more bytes than the file"), input = right();
    input.prefix_len = SIZE_MAX, input.file_len = UINT64_MAX, misused(input, "more than memory"), input = right();
    input.storage = NULL, misused(input, "no storage"), input = right();
    input.storage = (char *)storage + 1, input.storage_len -= 8, misused(input, "storage at an odd address"), input = right();
    input.storage_len = SIZE_MAX, misused(input, "storage beyond memory"), input = right();
    input.limit_count = 1, misused(input, "no limits"), input = right();
    input.limits = (const tg_limit *)odd, input.limit_count = 1, misused(input, "limits at an odd address"), input = right();
    input.limits = &limit, input.limit_count = 1, misused(input, "no such limit");
    input.limit_count = SIZE_MAX, misused(input, "limits beyond memory"), input = right();
    input.prefix = (const uint8_t *)&storage[2], misused(input, "bytes inside the storage"), input = right();
    input.storage_len = 7;
    MUST(tg_open(&input, &file, &error) == TG_STORAGE && error.want == TG_STORAGE_BASE && file == NULL, "no room");
    input.storage_len = TG_STORAGE_BASE + TG_SLOT_SAFETENSORS - 1;
    MUST(tg_open(&input, &file, &error) == TG_STORAGE, "a byte too few");
    MUST(error.want == TG_STORAGE_BASE + TG_SLOT_SAFETENSORS, "as much as the header says");
    MUST(tg_count((const tg_file *)storage, &error.want) == TG_MISUSE, "storage of a file that was not opened");
    input.storage_len++;
    MUST(tg_open(&input, &file, &error) == TG_OK, "enough");
}

static void looking(void) {
    tg_input input = right();
    tg_tensor tensor;
    const tg_file *file;
    const tg_file *odd = (const tg_file *)((const char *)storage + 4);
    uint64_t zeros[128], count, dim;
    size_t len;
    uint8_t text[4];
    memset(zeros, 0, sizeof zeros);
    MUST(tg_open(&input, &file, NULL) == TG_OK, "the file");
    const tg_file *none[] = {NULL, odd, (const tg_file *)zeros};
    for (size_t i = 0; i < 3; i++) {
        MUST(tg_format(none[i]) == 0, "format of no file");
        MUST(tg_count(none[i], &count) == TG_MISUSE, "count of no file");
        MUST(tg_nth(none[i], 0, &tensor) == TG_MISUSE, "nth of no file");
        MUST(tg_find(none[i], text, 0, &tensor) == TG_MISUSE, "find in no file");
        MUST(tg_name(none[i], 0, text, 4, &len) == TG_MISUSE, "name in no file");
        MUST(tg_shape(none[i], 0, &dim, 1, &len) == TG_MISUSE, "shape in no file");
        MUST(tg_check_array_text(none[i], NULL) == TG_MISUSE, "text of no file");
    }
    MUST(tg_count(file, NULL) == TG_MISUSE, "no place for the count");
    MUST(tg_nth(file, 0, NULL) == TG_MISUSE && tg_nth(file, 1, NULL) == TG_MISUSE, "no place for the tensor");
    MUST(tg_nth(file, 1, &tensor) == TG_NOT_FOUND && tg_nth(file, UINT64_MAX, &tensor) == TG_NOT_FOUND, "no such tensor");
    MUST(tg_find(file, NULL, 1, &tensor) == TG_MISUSE, "no name");
    MUST(tg_find(file, NULL, 0, &tensor) == TG_NOT_FOUND, "the empty name");
    MUST(tg_find(file, text, SIZE_MAX, &tensor) == TG_MISUSE, "a name longer than memory");
    MUST(tg_find(file, (const uint8_t *)"\xff", 1, &tensor) == TG_NOT_FOUND, "a name that is no text");
    MUST(tg_find(file, (const uint8_t *)"w", 1, NULL) == TG_MISUSE, "no place for what is found");
    MUST(tg_find(file, (const uint8_t *)"w", 1, &tensor) == TG_OK && tensor.dtype == TG_F32, "found");
    MUST(tensor.offset == FILE_LEN - 8 && tensor.length == 8 && tensor.rank == 1 && tensor.dims[0] == 2, "as it is");
    MUST(tg_name(file, 0, NULL, 9, &len) == TG_STORAGE && len == 1, "no place for the name");
    MUST(tg_name(file, 0, text, SIZE_MAX, &len) == TG_STORAGE && len == 1, "more room than memory is none");
    MUST(tg_name(file, 0, text, 4, &len) == TG_OK && len == 1 && text[0] == 'w', "the name");
    MUST(tg_name(file, 0, text, 4, NULL) == TG_MISUSE && tg_name(file, 1, text, 4, &len) == TG_NOT_FOUND, "name");
    MUST(tg_shape(file, 0, NULL, 9, &len) == TG_STORAGE && len == 1, "no place for the dimensions");
    MUST(tg_shape(file, 0, &dim, 1, NULL) == TG_MISUSE && tg_shape(file, 1, &dim, 1, &len) == TG_NOT_FOUND, "shape");
    MUST(tg_check_array_text(file, NULL) == TG_OK, "there is none");
    MUST(tg_dtype_name(TG_BF16, &len) != NULL && len == 4, "BF16");
    MUST(tg_dtype_name(TG_GGML + 12, &len) != NULL && len == 4, "Q4_K");
    MUST(tg_dtype_name(TG_F32, NULL) == NULL && tg_dtype_name(22, &len) == NULL && tg_dtype_name(UINT32_MAX, &len) == NULL,
         "no such dtype");
    MUST(tg_detect(FILE_BYTES, FILE_LEN) == TG_SAFETENSORS && tg_detect(NULL, 3) == 0 && tg_detect(NULL, 0) == 0, "detect");
}

int main(void) {
    opening();
    looking();
    puts("ok  wrong arguments are told");
    return 0;
}
