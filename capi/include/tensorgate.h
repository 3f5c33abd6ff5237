/*
 * tensorgate: is this model file what it says it is, and where are its tensors?
 *
 * The validator of safetensors files, GGUF files (versions 2 and 3) and sharded indexes, and the lookup of tensors in them.
 * Nothing is allocated, nothing is kept between calls, no file is opened: the caller brings the bytes and the storage.
 * No input makes a function crash, read past the bytes given, or recurse. The storage and the bytes must stay as they are
 * as long as the file is used; a file needs no closing. Functions that take a `const tg_file *` may be called from several
 * threads at once.
 *
 * A wrong argument (null where something must be, an address that is not aligned, a length that cannot be, storage that
 * overlaps the bytes) gives TG_MISUSE. What cannot be seen from inside is the caller's to keep: that pointers point to as
 * many bytes as is said, and that a `const tg_file *` came from tg_open and its storage was not reused since.
 */
#ifndef TENSORGATE_H
#define TENSORGATE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this header. A library whose tg_abi_version() is another must not be used with it. */
#define TG_ABI_VERSION 1u

/* What functions return. */
#define TG_OK 0
/* The file is refused: the error has the rule's code and the offset of the field that lied. */
#define TG_REFUSED 1
/* More of the file's beginning is needed to decide: `want` bytes of it. */
#define TG_NEED_MORE 2
/* The storage (or array) is too small: `want` bytes are needed. It may ask twice: for any at all, then for enough. */
#define TG_STORAGE 3
/* There is no such tensor. */
#define TG_NOT_FOUND 4
/* An argument is wrong. */
#define TG_MISUSE 5

/* Formats. */
#define TG_SAFETENSORS 1u
#define TG_GGUF 2u
#define TG_INDEX 3u

/* Storage: TG_STORAGE_BASE bytes, and a slot for each tensor (and each key/value pair of a GGUF file). The address is a
 * multiple of TG_STORAGE_ALIGN. A file with more than 64 metadata keys in no order takes some more; tg_open says how many. */
#define TG_STORAGE_BASE 512u
#define TG_STORAGE_ALIGN 8u
#define TG_SLOT_SAFETENSORS 40u
#define TG_SLOT_GGUF 20u
#define TG_SLOT_INDEX 8u

/* Limits, for tg_limit.which; README and crate documentation have their defaults. The last four are 0 or 1. */
#define TG_LIMIT_HEADER_LEN 1u
#define TG_LIMIT_TENSORS 2u
#define TG_LIMIT_RANK 3u
#define TG_LIMIT_NAME_LEN 4u
#define TG_LIMIT_METADATA_KEYS 5u
#define TG_LIMIT_METADATA_LEN 6u
#define TG_LIMIT_KEY_LEN 7u
#define TG_LIMIT_STRING_LEN 8u
#define TG_LIMIT_ARRAY_LEN 9u
#define TG_LIMIT_GGUF_NAME_LEN 10u
#define TG_LIMIT_GGUF_RANK 11u
#define TG_LIMIT_INDEX_LEN 12u
#define TG_LIMIT_SHARDS 13u
#define TG_LIMIT_INDEX_METADATA_LEN 14u
#define TG_LIMIT_INDEX_METADATA_DEPTH 15u
#define TG_LIMIT_GGUF_NESTED_ARRAYS 16u
#define TG_ALLOW_LEADING_SPACE 17u
#define TG_ALLOW_GGUF_INVALID_UTF8 18u
#define TG_ALLOW_GGUF_UNKNOWN_TYPES 19u
#define TG_ALLOW_GGUF_TRAILING 20u

/* Dtypes of safetensors. A GGUF tensor has TG_GGML + its type's number in ggml, a tensor of an index TG_DTYPE_NONE. */
#define TG_BOOL 0u
#define TG_F4 1u
#define TG_F6_E2M3 2u
#define TG_F6_E3M2 3u
#define TG_U8 4u
#define TG_I8 5u
#define TG_F8_E5M2 6u
#define TG_F8_E4M3 7u
#define TG_F8_E8M0 8u
#define TG_F8_E4M3FNUZ 9u
#define TG_F8_E5M2FNUZ 10u
#define TG_I16 11u
#define TG_U16 12u
#define TG_F16 13u
#define TG_BF16 14u
#define TG_I32 15u
#define TG_U32 16u
#define TG_F32 17u
#define TG_C64 18u
#define TG_F64 19u
#define TG_I64 20u
#define TG_U64 21u
#define TG_DTYPE_NONE 0xFFFFu
#define TG_GGML 0x10000u

/* A limit that is not the default's. */
typedef struct tg_limit {
    uint32_t which;
    uint64_t most;
} tg_limit;

/* What is to be judged, and where. Fields that do not apply are zero. */
typedef struct tg_input {
    uint32_t format;
    /* The file's first bytes: all of them, or the beginning with the header. Of a GGUF file the padding is only looked at
     * when all of them are given; an index is judged whole. */
    const uint8_t *prefix;
    size_t prefix_len;
    /* How long the whole file is. */
    uint64_t file_len;
    const tg_limit *limits;
    size_t limit_count;
    void *storage;
    size_t storage_len;
} tg_input;

/* Why. */
typedef struct tg_error {
    /* The stable code of the rule, as ST-DUP-NAME, with a NUL behind; empty where there is none. docs/rules.md has them. */
    char code[24];
    /* What is wrong, in a few words of ASCII: what_len bytes, no NUL behind, there as long as the library. */
    const char *what;
    size_t what_len;
    /* Bytes from the start of the file to the field that lied. */
    uint64_t offset;
    /* What would have been right, or how much is needed; UINT64_MAX where there is no such number. */
    uint64_t want;
} tg_error;

/* A tensor, proved to lie inside the file. */
typedef struct tg_tensor {
    /* Its name as it stands in the file: UTF-8, no NUL behind. Of JSON it may hold escapes; tg_name decodes them. */
    const uint8_t *name;
    size_t name_len;
    /* Of an index: the file name of the shard that it is in. Else null. */
    const uint8_t *shard;
    size_t shard_len;
    uint64_t elements;
    /* Where its bytes are in the file, and how many. Not aligned for the dtype unless the file happens to be. */
    uint64_t offset;
    uint64_t length;
    /* The first 8 dimensions, outermost first, zeros behind; tg_shape gives all. */
    uint64_t dims[8];
    uint32_t rank;
    uint32_t dtype;
    uint32_t name_is_escaped;
    uint32_t shard_is_escaped;
} tg_tensor;

/* An open file; it is inside the storage given to tg_open. */
typedef struct tg_file tg_file;

/* The version of the library's interface. */
uint32_t tg_abi_version(void);

/* What format a file is of by its first bytes (32 or more are best): TG_SAFETENSORS, TG_GGUF, TG_INDEX, or 0. */
uint32_t tg_detect(const uint8_t *prefix, size_t len);

/* Judges a file. On TG_OK `*file` is open, else it is null. `error` may be null. Where `input`, `file` or `error` itself is
 * what is wrong, neither `*file` nor `*error` is written. */
int32_t tg_open(const tg_input *input, const tg_file **file, tg_error *error);

/* The format of an open file, 0 for null. */
uint32_t tg_format(const tg_file *file);

/* How many tensors there are. */
int32_t tg_count(const tg_file *file, uint64_t *count);

/* The tensor at `index`, in the order of the data (of an index: of the names). */
int32_t tg_nth(const tg_file *file, uint64_t index, tg_tensor *tensor);

/* The tensor of that name, in UTF-8 with nothing escaped. */
int32_t tg_find(const tg_file *file, const uint8_t *name, size_t len, tg_tensor *tensor);

/* The name of the tensor at `index`, decoded. `*len` is how many bytes it has; TG_STORAGE when that is more than `room`. */
int32_t tg_name(const tg_file *file, uint64_t index, uint8_t *text, size_t room, size_t *len);

/* The dimensions of the tensor at `index`. `*rank` is how many there are; TG_STORAGE when that is more than `room`. */
int32_t tg_shape(const tg_file *file, uint64_t index, uint64_t *dims, size_t room, size_t *rank);

/* Whether all strings in arrays of a GGUF file are UTF-8, which tg_open does not ask. `error` may be null. */
int32_t tg_check_array_text(const tg_file *file, tg_error *error);

/* The name of a dtype: `*len` bytes, no NUL behind, there as long as the library; null where there is none. */
const char *tg_dtype_name(uint32_t dtype, size_t *len);

#ifdef __cplusplus
}
#endif

#endif
