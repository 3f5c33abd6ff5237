/* Every file of the corpus has its verdict, code and offset: whole, and from its beginning as far as that is asked for. */
#include "common.h"

#define ROW 4096

struct row {
    char *path, *verdict, *code, *offset, *limits;
};

static const struct {
    const char *name;
    uint32_t which;
} LIMITS[] = {
    {"header_len", TG_LIMIT_HEADER_LEN},
    {"tensors", TG_LIMIT_TENSORS},
    {"rank", TG_LIMIT_RANK},
    {"name_len", TG_LIMIT_NAME_LEN},
    {"metadata_keys", TG_LIMIT_METADATA_KEYS},
    {"metadata_len", TG_LIMIT_METADATA_LEN},
    {"key_len", TG_LIMIT_KEY_LEN},
    {"string_len", TG_LIMIT_STRING_LEN},
    {"array_len", TG_LIMIT_ARRAY_LEN},
    {"gguf_name_len", TG_LIMIT_GGUF_NAME_LEN},
    {"gguf_rank", TG_LIMIT_GGUF_RANK},
    {"index_len", TG_LIMIT_INDEX_LEN},
    {"shards", TG_LIMIT_SHARDS},
    {"index_metadata_len", TG_LIMIT_INDEX_METADATA_LEN},
    {"index_metadata_depth", TG_LIMIT_INDEX_METADATA_DEPTH},
};

static int ends_with(const char *text, const char *end) {
    size_t len = strlen(text), tail = strlen(end);
    return len >= tail && strcmp(text + len - tail, end) == 0;
}

static uint32_t format_of(const char *path) {
    return ends_with(path, ".safetensors") ? TG_SAFETENSORS : ends_with(path, ".gguf") ? TG_GGUF : TG_INDEX;
}

/* The limit of a row; whether there is one. `array_text` is no limit: it asks for tg_check_array_text. */
static size_t limit_of(const char *text, tg_limit *limit, int *array_text) {
    const char *most = strchr(text, '=');
    size_t i;
    *array_text = 0;
    if (strcmp(text, "-") == 0) {
        return 0;
    }
    MUST(most != NULL, text);
    limit->most = strtoull(most + 1, NULL, 10);
    if (strncmp(text, "array_text=", 11) == 0) {
        *array_text = 1;
        return 0;
    }
    for (i = 0; i < sizeof LIMITS / sizeof *LIMITS; i++) {
        if (strlen(LIMITS[i].name) == (size_t)(most - text) && strncmp(text, LIMITS[i].name, (size_t)(most - text)) == 0) {
            limit->which = LIMITS[i].which;
            return 1;
        }
    }
    MUST(0, text);
    return 0;
}

/* Opens with as little storage as is asked for: it may be asked for twice. The storage is the caller's to free. */
static int32_t open_exactly(tg_input *input, const tg_file **file, tg_error *error) {
    int32_t status;
    int asked = 0;
    input->storage_len = TG_STORAGE_BASE;
    input->storage = exactly(input->storage_len);
    while ((status = tg_open(input, file, error)) == TG_STORAGE) {
        MUST(strcmp(error->code, "TG-STORAGE") == 0 && error->want > input->storage_len, error->code);
        MUST(++asked <= 1, "asked for storage once too often");
        free(input->storage);
        input->storage_len = (size_t)error->want;
        input->storage = exactly(input->storage_len);
    }
    MUST((status == TG_OK) == (*file != NULL), "a file where there is one");
    return status;
}

/* Looks at every tensor in every way, and at its bytes. */
static uint64_t touch(const tg_file *file, const uint8_t *bytes, size_t len) {
    uint64_t count, index, sum = 0, at;
    tg_tensor tensor, again;
    MUST(tg_count(file, &count) == TG_OK, "count");
    for (index = 0; index < count; index++) {
        size_t name_len, rank, dim;
        uint64_t elements = 1, *dims;
        uint8_t *name;
        MUST(tg_nth(file, index, &tensor) == TG_OK, "nth");
        MUST(tg_name(file, index, NULL, 0, &name_len) == (tensor.name_len > 0 ? TG_STORAGE : TG_OK), "name");
        name = exactly(name_len);
        MUST(tg_name(file, index, name, name_len, &name_len) == TG_OK, "name");
        MUST(tensor.name_is_escaped || (name_len == tensor.name_len && memcmp(name, tensor.name, name_len) == 0), "name");
        MUST(tg_find(file, name, name_len, &again) == TG_OK, "found by its name");
        MUST(again.name == tensor.name && again.offset == tensor.offset && again.length == tensor.length, "the same");
        free(name);
        if (tg_format(file) == TG_INDEX) {
            MUST(tensor.dtype == TG_DTYPE_NONE && tensor.shard_len > 0 && tensor.length == 0, "an entry of an index");
            for (at = 0; at < tensor.shard_len; at++) {
                sum += tensor.shard[at];
            }
            continue;
        }
        MUST(tensor.offset <= len && tensor.length <= len - tensor.offset, "inside the file");
        MUST(tg_dtype_name(tensor.dtype, &name_len) != NULL && name_len > 1, "dtype");
        dims = (uint64_t *)exactly((tensor.rank + 1u) * sizeof *dims);
        MUST(tg_shape(file, index, dims, tensor.rank, &rank) == TG_OK && rank == tensor.rank, "shape");
        for (dim = 0; dim < rank; dim++) {
            elements *= dims[dim];
            MUST(dim >= 8 || dims[dim] == tensor.dims[dim], "the first dimensions");
        }
        MUST(elements == tensor.elements, "elements");
        free(dims);
        for (at = 0; at < tensor.length; at++) {
            sum += bytes[tensor.offset + at];
        }
    }
    MUST(tg_nth(file, count, &tensor) == TG_NOT_FOUND, "one past the last");
    MUST(tg_find(file, (const uint8_t *)"no tensor is called so", 22, &tensor) == TG_NOT_FOUND, "no such name");
    return sum;
}

/* Whether the outcome is that of the row. */
static void compare(const struct row *row, const char *way, int32_t status, const tg_error *error, int refused) {
    int same = status == (refused ? TG_REFUSED : TG_OK);
    if (same && refused) {
        same = strcmp(error->code, row->code) == 0 && error->offset == strtoull(row->offset, NULL, 10);
    }
    if (same && !refused) {
        same = error->code[0] == '\0' && error->what_len == 0;
    }
    if (!same) {
        fprintf(stderr, "%s (%s): want %s %s at %s, got status %d, %s at %llu\n", row->path, way, row->verdict, row->code,
                row->offset, (int)status, error->code, (unsigned long long)error->offset);
        exit(1);
    }
}

static void check_row(const char *corpus, const struct row *row) {
    char path[ROW];
    size_t len;
    uint8_t *bytes, *prefix;
    tg_limit limit;
    tg_input input;
    tg_error error;
    const tg_file *file = NULL;
    int array_text, refused = strcmp(row->verdict, "rejected") == 0, asked = 0;
    int32_t status;
    memset(&input, 0, sizeof input);
    MUST((size_t)snprintf(path, sizeof path, "%s/%s", corpus, row->path) < sizeof path, row->path);
    bytes = read_file(path, &len);
    input.format = format_of(path);
    input.limits = &limit;
    input.limit_count = limit_of(row->limits, &limit, &array_text);
    input.prefix = bytes;
    input.prefix_len = len;
    input.file_len = len;
    status = open_exactly(&input, &file, &error);
    if (status == TG_OK && array_text) {
        status = tg_check_array_text(file, &error);
    }
    compare(row, "whole", status, &error, refused);
    if (status == TG_OK) {
        uint64_t sum = touch(file, bytes, len);
        MUST(touch(file, bytes, len) == sum, "the same bytes");
    }
    free(input.storage);
    /* From no byte on, as many as are asked for; padding cannot be seen from there, nor is array_text asked for. */
    if (strcmp(row->code, "GG-PADDING-NONZERO") != 0 && !array_text) {
        input.prefix_len = 0;
        prefix = exactly(0);
        for (;;) {
            input.prefix = prefix;
            status = open_exactly(&input, &file, &error);
            free(input.storage);
            if (status != TG_NEED_MORE) {
                break;
            }
            MUST(error.want > input.prefix_len && error.want <= len, "more, and no more than there is");
            MUST(++asked < 3 || input.format == TG_GGUF, "asked once too often");
            free(prefix);
            input.prefix_len = (size_t)error.want;
            prefix = exactly(input.prefix_len);
            memcpy(prefix, bytes, input.prefix_len);
        }
        compare(row, "beginning", status, &error, refused);
        free(prefix);
    }
    free(bytes);
}

int main(int argc, char **argv) {
    char path[ROW], line[ROW];
    FILE *manifest;
    unsigned rows = 0;
    MUST(argc == 2, "usage: corpus FOLDER");
    MUST(tg_abi_version() == TG_ABI_VERSION, "the library is of another version than the header");
    MUST((size_t)snprintf(path, sizeof path, "%s/MANIFEST.tsv", argv[1]) < sizeof path, argv[1]);
    manifest = fopen(path, "r");
    MUST(manifest != NULL && fgets(line, sizeof line, manifest) != NULL, path);
    while (fgets(line, sizeof line, manifest) != NULL) {
        struct row row;
        char *fields[8];
        size_t count = 0;
        char *at = strtok(line, "\t\n");
        while (at != NULL && count < 8) {
            fields[count++] = at;
            at = strtok(NULL, "\t\n");
        }
        MUST(count == 8, "a row of eight fields");
        row.path = fields[0];
        row.verdict = fields[2];
        row.code = fields[3];
        row.offset = fields[4];
        row.limits = fields[7];
        check_row(argv[1], &row);
        rows++;
    }
    fclose(manifest);
    MUST(rows > 500, "the corpus is all there");
    printf("%u files with their verdict, code and offset\n", rows);
    return 0;
}
