/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a harness over every file of the folders given, as libFuzzer would. An empty corpus is a failure. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file) return 0;
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    rewind(file);
    uint8_t *data =
        size >= 0 ? malloc((size_t)size + 1) : NULL; /* its end is the block's, nearly: sanitizers see overruns */
    size_t got = data ? fread(data, 1, (size_t)size, file) : 0;
    fclose(file);
    uint8_t *exact = realloc(data, got ? got : 1);
    if (!exact) return 0;
    printf("%s\n", path);
    fflush(stdout);
    LLVMFuzzerTestOneInput(exact, got);
    free(exact);
    return 1;
}

static int replay_folder(const char *path)
{
    DIR *folder = opendir(path);
    if (!folder) return 0;
    int count = 0;
    for (struct dirent *entry; (entry = readdir(folder));) {
        char name[4096];
        if (entry->d_name[0] == '.') continue;
        snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        count += replay_file(name);
    }
    closedir(folder);
    return count;
}

int main(int argc, char **argv)
{
    int count = 0;
    for (int i = 1; i < argc; i++) count += replay_folder(argv[i]);
    printf("%d inputs\n", count);
    return count ? 0 : 1;
}
