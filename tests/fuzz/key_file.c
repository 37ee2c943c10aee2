/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a key's file: a key of each kind, or refused with a sentence that holds none of them. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tensorwasm/snapshot.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char path[] = "/tmp/tw-fuzz-key-XXXXXX";
static int file = -1;

static void require(bool condition)
{
    if (!condition) abort();
}

static void remove_file(void) { unlink(path); }

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { TOLD = 12 }; /* so many bytes of a key in a message are no accident */
    if (file < 0) {
        require((file = mkstemp(path)) >= 0);
        atexit(remove_file);
    }
    require(ftruncate(file, 0) == 0 && pwrite(file, data, size, 0) == (ssize_t)size);
    for (int kind = 0; kind < TW_SNAPSHOT_KEY_KINDS; kind++) {
        tw_snapshot_key *key = NULL;
        tw_error error = {.message = ""};
        tw_status status = tw_snapshot_key_read((tw_snapshot_key_kind)kind, path, &key, &error);
        require(status == TW_OK ? key != NULL : status == TW_MALFORMED && error.message[0] && !key);
        if (status && size >= TOLD) require(!memmem(error.message, strlen(error.message), data, TOLD));
        tw_snapshot_key_free(key);
    }
    return 0;
}
