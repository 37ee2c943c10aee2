/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/background.h"

#include <fcntl.h>
#include <spawn.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/input.h"
#include "cli/message.h"
#include "os/whole.h"

enum { MOST_BYTES = 64 << 20, LOW_PRIORITY = 10 };
static const uint64_t TIME = UINT64_C(60) * 1000000000;

/* ---- the process that ends ---- */

static int file_of(tw_kernel_cache *cache)
{
    void *bytes;
    size_t size;
    if (tw_kernel_cache_unfinished(cache, &bytes, &size, NULL) != TW_OK || !bytes) return -1;
    int fd = memfd_create("unfinished-kernels", MFD_CLOEXEC);
    if (fd >= 0 && !(tw_write_whole(fd, bytes, size) && lseek(fd, 0, SEEK_SET) == 0)) {
        close(fd);
        fd = -1;
    }
    free(bytes);
    return fd;
}

static bool start(int requests, char *folder)
{
    char *const words[] = {CLI_PROGRAM, "finish-kernels", folder, NULL};
    extern char **environ;
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    pid_t pid;
    if (posix_spawn_file_actions_init(&files)) return false;
    posix_spawnattr_init(&how);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSID);
    bool good = !posix_spawn_file_actions_adddup2(&files, requests, 0) &&
                !posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0) &&
                !posix_spawn_file_actions_adddup2(&files, 1, 2) && !posix_spawn_file_actions_addclosefrom_np(&files, 3) &&
                !posix_spawn_file_actions_addchdir_np(&files, "/") &&
                !posix_spawn(&pid, "/proc/self/exe", &files, &how, words, environ);
    posix_spawnattr_destroy(&how);
    posix_spawn_file_actions_destroy(&files);
    return good;
}

bool cli_finish_in_background(tw_kernel_cache *cache, const char *folder)
{
    int requests = file_of(cache);
    if (requests < 0) return false;
    char *absolute = realpath(folder, NULL);
    bool started = absolute && start(requests, absolute);
    free(absolute);
    close(requests);
    return started;
}

/* ---- the process that goes on ---- */

static int compile(const char *folder, const uint8_t *bytes, size_t size)
{
    tw_engine *engine = NULL;
    tw_kernel_cache *cache = NULL;
    tw_error error;
    tw_kernel_cache_options options = TW_KERNEL_CACHE_OPTIONS_INIT;
    options.directory = folder;
    tw_status status = tw_engine_new(NULL, &engine, &error);
    if (!status) status = tw_kernel_cache_new(engine, &options, &cache, &error);
    if (!status) status = tw_kernel_cache_compile(cache, bytes, size, TIME, &error);
    tw_kernel_cache_free(cache);
    tw_engine_free(engine);
    return status ? cli_failure(false, NULL, &error) : CLI_EXIT_DONE;
}

static int run(const void *settings, const cli_operands *operands)
{
    (void)settings;
    setpriority(PRIO_PROCESS, 0, LOW_PRIORITY);
    static const cli_input_kind requests = {MOST_BYTES, "a list of kernels", "nothing"};
    uint8_t *bytes;
    size_t size;
    tw_error error;
    if (cli_read_file(&requests, "-", &bytes, &size, &error)) return cli_failure(false, "stdin", &error);
    int code = compile(operands->items[0], bytes, size);
    free(bytes);
    return code;
}

const cli_command cli_finish_kernels = {
    .name = "finish-kernels",
    .operands = "FOLDER",
    .summary = "compiles the kernels that a run left unfinished",
    .text = "Started by 'run' when the guest ends before its kernels are compiled; reads from stdin which.",
    .min_operands = 1,
    .max_operands = 1,
    .hidden = true,
    .run = run,
};
