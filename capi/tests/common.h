/* What the tests share: files in memory of exactly their length, and a way to fail. */
#ifndef COMMON_H
#define COMMON_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensorgate.h"

#define MUST(condition, what)                                                                                          \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, what, #condition);                                  \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

/* Memory of exactly so many bytes, so that whoever reads past it is caught; of one byte where there are none. */
static inline uint8_t *exactly(size_t len) {
    uint8_t *bytes = (uint8_t *)malloc(len > 0 ? len : 1);
    MUST(bytes != NULL, "memory");
    return bytes;
}

/* Programs that read no file do not use it. */
static inline uint8_t *read_file(const char *path, size_t *len) {
    FILE *file = fopen(path, "rb");
    uint8_t *bytes;
    long end;
    MUST(file != NULL, path);
    MUST(fseek(file, 0, SEEK_END) == 0, path);
    end = ftell(file);
    MUST(end >= 0 && fseek(file, 0, SEEK_SET) == 0, path);
    *len = (size_t)end;
    bytes = exactly(*len);
    MUST(fread(bytes, 1, *len, file) == *len, path);
    fclose(file);
    return bytes;
}

#endif
