/* SPDX-License-Identifier: Apache-2.0 */
#include "kcache/disk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <sodium.h>

#include "os/whole.h"

#define MAGIC "TWKCACHE"
enum { VERSION = 1, HEADER = 24, MAC = 32, KEY = 32, NAME_MAX_BYTES = 80, MAX_FILE = 128 << 20, STALE_SECONDS = 3600 };

struct tw_disk {
    int folder;
    uint8_t key[KEY];
    uint64_t max_bytes;
    pthread_mutex_t lock; /* of the fields below */
    uint64_t used;        /* as far as this process knows */
    unsigned serial;      /* for temporary names */
};

__attribute__((format(printf, 3, 4))) static bool refuse(char *reason, size_t size, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(reason, size, format, args);
    va_end(args);
    return false;
}

static bool is_ours(const struct stat *info)
{
    return S_ISREG(info->st_mode) && info->st_uid == geteuid() && !(info->st_mode & 077);
}

/* ---- whole files ---- */

/* A new file with a name that nobody else uses; -1 when it can't be made. */
static int make_temporary(tw_disk *disk, char name[64])
{
    pthread_mutex_lock(&disk->lock);
    unsigned serial = disk->serial++;
    pthread_mutex_unlock(&disk->lock);
    snprintf(name, 64, ".tmp-%ld-%u-%08x", (long)getpid(), serial, randombytes_random());
    return openat(disk->folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

/* ---- the key ---- */

static bool make_key(tw_disk *disk)
{
    char temporary[64];
    int file = make_temporary(disk, temporary);
    if (file < 0) return false;
    uint8_t key[KEY];
    randombytes_buf(key, sizeof key);
    bool good = tw_write_whole(file, key, sizeof key); /* a key that a crash takes away is made anew, like all that it signed */
    close(file);
    /* A link, not a rename: whoever comes second keeps the first one's key. */
    if (good) good = !linkat(disk->folder, temporary, disk->folder, "key", 0) || errno == EEXIST;
    unlinkat(disk->folder, temporary, 0);
    return good;
}

typedef enum key_state { KEY_GOOD, KEY_ABSENT, KEY_DAMAGED, KEY_FOREIGN } key_state;

static key_state read_key(tw_disk *disk)
{
    int file = openat(disk->folder, "key", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) return errno == ENOENT ? KEY_ABSENT : KEY_FOREIGN;
    struct stat info;
    key_state state = fstat(file, &info) || !is_ours(&info) ? KEY_FOREIGN
        : info.st_size != KEY || !tw_read_whole(file, disk->key, KEY) ? KEY_DAMAGED : KEY_GOOD;
    close(file);
    return state;
}

static bool have_key(tw_disk *disk, char *reason, size_t size)
{
    key_state state = read_key(disk);
    if (state == KEY_DAMAGED) unlinkat(disk->folder, "key", 0); /* all that it signed is lost, and is rebuilt */
    if (state == KEY_DAMAGED || state == KEY_ABSENT) {
        if (!make_key(disk)) return refuse(reason, size, "its key can't be made: %s", strerror(errno));
        state = read_key(disk);
    }
    return state == KEY_GOOD || refuse(reason, size, "its key is not a file of ours that only we can read");
}

/* ---- the folder ---- */

static bool make_folders(char *path)
{
    for (char *slash = path + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = 0;
        bool made = !mkdir(path, 0700) || errno == EEXIST;
        *slash = '/';
        if (!made) return false;
    }
    return !mkdir(path, 0700) || errno == EEXIST;
}

static bool open_folder(tw_disk *disk, const char *directory, char *reason, size_t size)
{
    char *path = strdup(directory);
    if (!path) return refuse(reason, size, "out of memory");
    for (size_t length = strlen(path); length > 1 && path[length - 1] == '/'; ) path[--length] = 0;
    bool made = *path && make_folders(path);
    disk->folder = made ? open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
    int why = *directory ? errno : ENOENT;
    free(path);
    if (disk->folder < 0) return refuse(reason, size, "%s", why == ELOOP || why == ENOTDIR ? "it is not a folder" : strerror(why));
    struct stat info;
    if (fstat(disk->folder, &info)) return refuse(reason, size, "%s", strerror(errno));
    if (info.st_uid != geteuid()) return refuse(reason, size, "it belongs to another user");
    if (info.st_mode & 077) return refuse(reason, size, "others may use it (mode %03o): chmod 700 it", info.st_mode & 0777);
    return true;
}

typedef struct listed {
    char name[NAME_MAX_BYTES + 1];
    time_t used;
    uint64_t size;
} listed;

/* Every file but the key; those of writers that died are removed. Returns the number, items malloc'd. */
static size_t list_files(tw_disk *disk, listed **items)
{
    size_t count = 0, capacity = 0;
    *items = NULL;
    int again = openat(disk->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = again < 0 ? NULL : fdopendir(again);
    if (!folder && again >= 0) close(again);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        struct stat info;
        if (!strcmp(entry->d_name, "key") || strlen(entry->d_name) > NAME_MAX_BYTES) continue;
        if (fstatat(disk->folder, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) || !S_ISREG(info.st_mode)) continue;
        if (!strncmp(entry->d_name, ".tmp-", 5) && time(NULL) - info.st_mtime > STALE_SECONDS)
            unlinkat(disk->folder, entry->d_name, 0);
        if (entry->d_name[0] == '.') continue;
        if (count == capacity) {
            capacity = capacity ? capacity * 2 : 64;
            listed *more = realloc(*items, capacity * sizeof **items);
            if (!more) break;
            *items = more;
        }
        listed *item = &(*items)[count++];
        strcpy(item->name, entry->d_name);
        item->used = info.st_mtime, item->size = (uint64_t)info.st_size;
    }
    if (folder) closedir(folder);
    return count;
}

static int by_use(const void *a, const void *b)
{
    time_t x = ((const listed *)a)->used, y = ((const listed *)b)->used;
    return (x > y) - (x < y);
}

/* Looks how much there is; if it is too much, removes the longest unused down to three quarters. Lock held. */
static void keep_bound(tw_disk *disk)
{
    listed *items;
    size_t count = list_files(disk, &items);
    disk->used = 0;
    for (size_t i = 0; i < count; i++) disk->used += items[i].size;
    if (disk->used > disk->max_bytes) {
        qsort(items, count, sizeof *items, by_use);
        for (size_t i = 0; i < count && disk->used > disk->max_bytes / 4 * 3; i++)
            if (!unlinkat(disk->folder, items[i].name, 0)) disk->used -= items[i].size;
    }
    free(items);
}

tw_disk *tw_disk_open(const char *directory, uint64_t max_bytes, char *reason, size_t reason_size)
{
    tw_disk *disk = calloc(1, sizeof *disk);
    if (!disk) {
        refuse(reason, reason_size, "out of memory");
        return NULL;
    }
    disk->folder = -1, disk->max_bytes = max_bytes;
    disk->used = max_bytes; /* unknown: the first write looks */
    pthread_mutex_init(&disk->lock, NULL);
    if (open_folder(disk, directory, reason, reason_size) && have_key(disk, reason, reason_size)) return disk;
    tw_disk_close(disk);
    return NULL;
}

void tw_disk_close(tw_disk *disk)
{
    if (!disk) return;
    if (disk->folder >= 0) close(disk->folder);
    pthread_mutex_destroy(&disk->lock);
    sodium_memzero(disk->key, sizeof disk->key);
    free(disk);
}

/* ---- files ---- */

static void put(uint8_t *to, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) to[i] = (uint8_t)(value >> 8 * i);
}

static void make_header(uint8_t header[HEADER], size_t size)
{
    memcpy(header, MAGIC, 8);
    put(header + 8, VERSION, 4);
    put(header + 12, 0, 4);
    put(header + 16, size, 8);
}

static void authenticate(const tw_disk *disk, const char *name, const uint8_t *header, const uint8_t *payload, size_t size,
                         uint8_t mac[MAC])
{
    crypto_generichash_state state;
    crypto_generichash_init(&state, disk->key, KEY, MAC);
    crypto_generichash_update(&state, (const uint8_t *)name, strlen(name) + 1);
    crypto_generichash_update(&state, header, HEADER);
    crypto_generichash_update(&state, payload, size);
    crypto_generichash_final(&state, mac, MAC);
}

static uint8_t *load(int file, size_t *size)
{
    struct stat info;
    if (fstat(file, &info) || !is_ours(&info)) return NULL;
    if (info.st_size < HEADER + MAC || info.st_size > MAX_FILE) return NULL;
    *size = (size_t)info.st_size;
    uint8_t *data = malloc(*size);
    if (data && tw_read_whole(file, data, *size)) return data;
    free(data);
    return NULL;
}

static bool authentic(const tw_disk *disk, const char *name, const uint8_t *data, size_t size)
{
    uint8_t header[HEADER], mac[MAC];
    make_header(header, size - HEADER - MAC);
    authenticate(disk, name, header, data + HEADER, size - HEADER - MAC, mac);
    return !memcmp(header, data, HEADER) && !sodium_memcmp(mac, data + size - MAC, MAC);
}

tw_disk_found tw_disk_read(tw_disk *disk, const char *name, uint8_t **payload, size_t *size)
{
    int file = openat(disk->folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0 && errno != ELOOP) return TW_DISK_ABSENT;
    uint8_t *data = file < 0 ? NULL : load(file, size);
    if (data && authentic(disk, name, data, *size)) {
        futimens(file, NULL); /* used just now */
        close(file);
        *size -= HEADER + MAC;
        memmove(data, data + HEADER, *size);
        *payload = data;
        return TW_DISK_FOUND;
    }
    if (file >= 0) close(file);
    free(data);
    tw_disk_remove(disk, name);
    return TW_DISK_REJECTED;
}

bool tw_disk_write(tw_disk *disk, const char *name, const uint8_t *payload, size_t size)
{
    uint8_t header[HEADER], mac[MAC];
    char temporary[64];
    if (size > MAX_FILE - HEADER - MAC) return false;
    int file = make_temporary(disk, temporary);
    if (file < 0) return false;
    make_header(header, size);
    authenticate(disk, name, header, payload, size, mac);
    bool good = tw_write_whole(file, header, HEADER) && tw_write_whole(file, payload, size) && tw_write_whole(file, mac, MAC);
    good = !close(file) && good;
    if (good) good = !renameat(disk->folder, temporary, disk->folder, name);
    if (!good) unlinkat(disk->folder, temporary, 0);
    pthread_mutex_lock(&disk->lock);
    disk->used += size + HEADER + MAC;
    if (disk->used > disk->max_bytes) keep_bound(disk);
    pthread_mutex_unlock(&disk->lock);
    return good;
}

void tw_disk_remove(tw_disk *disk, const char *name)
{
    unlinkat(disk->folder, name, 0);
}
