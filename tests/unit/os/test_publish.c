/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "os/publish.h"

enum { SIZE = 300000 };
static char folder[] = "/tmp/tw-publish-XXXXXX", path[64];
static uint8_t content[2][SIZE];

static bool holds(const char *name, const uint8_t *wanted, size_t size)
{
    static uint8_t read_back[SIZE + 1];
    FILE *file = fopen(name, "r");
    if (!file) return false;
    size_t got = fread(read_back, 1, sizeof read_back, file);
    fclose(file);
    return got == size && !memcmp(read_back, wanted, size);
}

static int files_in_folder(void)
{
    DIR *dir = opendir(folder);
    int count = 0;
    for (struct dirent *entry; (entry = readdir(dir));) count += strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..");
    closedir(dir);
    return count;
}

static void a_file_is_made_and_replaced(void **state)
{
    (void)state;
    const char *step;
    struct stat about;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(tw_publish(path, content[i & 1], SIZE - (size_t)i, &step), 0);
        assert_true(holds(path, content[i & 1], SIZE - (size_t)i));
        assert_int_equal(files_in_folder(), 1);
    }
    assert_int_equal(tw_publish(path, NULL, 0, &step), 0);
    assert_true(holds(path, content[0], 0));
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(about.st_mode & 0777, 0600);
}

static void a_link_stays_and_what_is_no_file_is_left_alone(void **state)
{
    (void)state;
    const char *step;
    char link[80], fifo[80];
    struct stat about;
    snprintf(link, sizeof link, "%s/link", folder);
    snprintf(fifo, sizeof fifo, "%s/fifo", folder);
    assert_int_equal(tw_publish(path, content[0], SIZE, &step), 0);
    assert_int_equal(symlink(path, link), 0);
    assert_int_equal(tw_publish(link, content[1], SIZE, &step), 0);
    assert_int_equal(lstat(link, &about), 0);
    assert_true(S_ISLNK(about.st_mode));
    assert_true(holds(path, content[1], SIZE));
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(tw_publish(fifo, content[0], SIZE, &step), EINVAL);
    assert_int_equal(tw_publish("/dev/null", content[0], 1, &step), EINVAL);
    assert_int_equal(tw_publish(folder, content[0], 1, &step), EISDIR);
    assert_int_equal(tw_publish("/nowhere/at/all", content[0], 1, &step), ENOENT);
    assert_string_equal(step, "open the folder");
    unlink(link);
    assert_int_equal(symlink("/nowhere/at/all", link), 0);
    assert_int_equal(tw_publish(link, content[0], SIZE, &step), ENOENT);
    assert_string_equal(step, "follow the link");
    assert_int_equal(lstat(link, &about), 0);
    assert_true(S_ISLNK(about.st_mode));
    unlink(link);
    unlink(fifo);
}

/* ---- each system call fails once ---- */

static int until_failure, failure;
static bool fails(void)
{
    if (until_failure < 0 || until_failure-- > 0) return false;
    errno = failure;
    return true;
}

static int f_open(int at, const char *name, int flags, mode_t mode) { return fails() ? -1 : tw_publish_system.open(at, name, flags, mode); }
static ssize_t f_write(int file, const void *bytes, size_t size)
{
    return fails() ? -1 : tw_publish_system.write(file, bytes, size > 70000 ? 70000 : size); /* short writes */
}
static int f_fsync(int file) { return fails() ? -1 : fsync(file); }
static int f_close(int file) { bool f = fails(); close(file); return f ? -1 : 0; }
static int f_rename(int from, const char *a, int to, const char *b) { return fails() ? -1 : renameat(from, a, to, b); }
static int f_unlink(int at, const char *name, int flags) { return unlinkat(at, name, flags); }
static off_t f_seek(int file, off_t offset, int whence) { return fails() ? -1 : lseek(file, offset, whence); }

static void whatever_fails_the_old_file_or_the_new_is_there(void **state)
{
    (void)state;
    static const tw_publish_calls calls = {f_open, f_write, f_fsync, f_close, f_rename, f_unlink, f_seek};
    static const int errors[] = {ENOSPC, EIO, EDQUOT, EMFILE};
    enum { HOLE = 100000, HOLE_END = 200000 };
    const tw_publish_part parts[] = {{0, content[1], HOLE}, {HOLE_END, content[1] + HOLE_END, SIZE - HOLE_END}};
    const char *step;
    memset(content[1] + HOLE, 0, HOLE_END - HOLE);
    for (size_t e = 0; e < sizeof errors / sizeof *errors; e++) {
        int result = -1, failing = 0;
        for (; result; failing++) {
            assert_int_equal(tw_publish(path, content[0], SIZE, &step), 0);
            until_failure = failing, failure = errors[e];
            result = tw_publish_by(&calls, path, parts, 2, &step);
            until_failure = -1;
            assert_true(result == 0 || result == errors[e]);
            bool replaced = result == 0 || !strcmp(step, "fsync of the folder");
            assert_true(holds(path, content[replaced], SIZE));
            assert_int_equal(files_in_folder(), 1);
            if (failing > 11) break; /* the last close tells nobody */
        }
        assert_true(failing >= 11);
    }
}

static void a_limit_on_file_sizes_is_a_full_disk(void **state)
{
    (void)state;
    const char *step;
    struct rlimit before, small = {100000, RLIM_INFINITY};
    getrlimit(RLIMIT_FSIZE, &before);
    small.rlim_max = before.rlim_max;
    assert_int_equal(tw_publish(path, content[0], SIZE, &step), 0);
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    assert_int_equal(tw_publish(path, content[1], SIZE, &step), EFBIG);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_string_equal(step, "write");
    assert_true(holds(path, content[0], SIZE));
    assert_int_equal(files_in_folder(), 1);
}

/* ---- a full disk: a small tmpfs in a mount namespace of the child's own ---- */

static bool put_text(const char *name, const char *text)
{
    int fd = open(name, O_WRONLY);
    bool done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0) close(fd);
    return done;
}

/* Root may mount at once; others as root of a user namespace, where that is allowed. */
static bool mount_small(const char *at)
{
    char users[40], groups[40];
    bool is_root = geteuid() == 0;
    snprintf(users, sizeof users, "0 %u 1", (unsigned)geteuid());
    snprintf(groups, sizeof groups, "0 %u 1", (unsigned)getegid());
    if (unshare(is_root ? CLONE_NEWNS : CLONE_NEWUSER | CLONE_NEWNS)) return false;
    if (!is_root && !(put_text("/proc/self/uid_map", users) && put_text("/proc/self/setgroups", "deny") && put_text("/proc/self/gid_map", groups)))
        return false;
    if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL)) return false;
    return mount("tmpfs", at, "tmpfs", 0, "size=640k") == 0; /* the old file and a part of the new one */
}

enum { CHILD_OK = 0, CHILD_SKIPS = 77 };

static int fill_disk(void)
{
    enum { TOO_MUCH = 3 };
    const char *step = "";
    static uint8_t large[TOO_MUCH * SIZE];
    if (!mount_small(folder)) return CHILD_SKIPS;
    if (tw_publish(path, content[0], SIZE, &step)) return 1;
    for (int i = 0; i < 5; i++) {
        if (tw_publish(path, large, sizeof large, &step) != ENOSPC || strcmp(step, "write")) return 2;
        if (!holds(path, content[0], SIZE) || files_in_folder() != 1) return 3;
    }
    if (tw_publish(path, content[1], SIZE, &step)) return 4; /* there is room again */
    return holds(path, content[1], SIZE) ? CHILD_OK : 5;
}

static void a_full_disk_leaves_the_old_file(void **state)
{
    (void)state;
    int status;
    pid_t child = fork();
    if (child == 0) _exit(fill_disk());
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == CHILD_SKIPS) print_message("skipped: no file system may be mounted here\n");
    else assert_int_equal(WEXITSTATUS(status), CHILD_OK);
}

/* ---- permissions: as somebody who isn't root ---- */

/* Folders as root made them, then without root. */
static int publish_without_rights(void)
{
    const char *step = "";
    char closed[80], inside[100];
    snprintf(closed, sizeof closed, "%s/closed", folder);
    snprintf(inside, sizeof inside, "%s/file", closed);
    if (mkdir(closed, 0700) || tw_publish(inside, content[0], 100, &step) || chmod(closed, 0555) || chmod(folder, 0755)) return 1;
    if (geteuid() == 0 && (setgid(65534) || setuid(65534))) return 2;
    if (tw_publish(inside, content[1], 100, &step) != EACCES) return 3; /* the folder may be read, not written */
    if (geteuid() != getuid() || access(closed, W_OK) == 0) return 4;
    return 0;
}

static void a_folder_without_rights_is_told(void **state)
{
    (void)state;
    char closed[80], inside[100];
    int status;
    pid_t child = fork();
    if (child == 0) _exit(publish_without_rights());
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    snprintf(closed, sizeof closed, "%s/closed", folder);
    snprintf(inside, sizeof inside, "%s/file", closed);
    assert_true(holds(inside, content[0], 100));
    assert_int_equal(chmod(closed, 0700), 0);
    unlink(inside), rmdir(closed);
}

static void killed_at_any_moment_it_leaves_one_of_the_two(void **state)
{
    (void)state;
    enum { KILLS = 200 };
    const char *step;
    unsigned seed = 1;
    assert_int_equal(tw_publish(path, content[0], SIZE, &step), 0);
    for (int i = 0; i < KILLS; i++) {
        pid_t child = fork();
        if (child == 0)
            for (int n = 0;; n++) tw_publish(path, content[n & 1], SIZE, &step);
        struct timespec moment = {0, (long)(rand_r(&seed) % 4000000)};
        nanosleep(&moment, NULL);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        assert_true(holds(path, content[0], SIZE) || holds(path, content[1], SIZE));
    }
}

static int set_up(void **state)
{
    (void)state;
    for (size_t i = 0; i < SIZE; i++) content[0][i] = (uint8_t)(i * 7), content[1][i] = (uint8_t)(i * 11 + 3);
    if (!mkdtemp(folder)) return 1;
    snprintf(path, sizeof path, "%s/file", folder);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    char command[80];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_made_and_replaced),
        cmocka_unit_test(a_link_stays_and_what_is_no_file_is_left_alone),
        cmocka_unit_test(whatever_fails_the_old_file_or_the_new_is_there),
        cmocka_unit_test(a_limit_on_file_sizes_is_a_full_disk),
        cmocka_unit_test(a_full_disk_leaves_the_old_file),
        cmocka_unit_test(a_folder_without_rights_is_told),
        cmocka_unit_test(killed_at_any_moment_it_leaves_one_of_the_two),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
