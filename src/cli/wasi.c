/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/wasi.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/message.h"

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

/* Takes text over; NULL (out of memory) stays NULL. */
static const char *own(cli_wasi *wasi, char *text)
{
    if (text) wasi->owned[wasi->owned_count++] = text;
    return text;
}

static void prepare_args(cli_wasi *wasi, const char *argv0, const cli_operands *operands)
{
    for (size_t i = 0; i < operands->count; i++) wasi->args[i] = operands->items[i];
    wasi->args[0] = argv0 ? argv0 : file_name(operands->items[0]);
}

/* "NAME=VALUE" as it is, "NAME" with our value. NULL when we have none, or no memory. */
static const char *variable(cli_wasi *wasi, const char *text)
{
    if (strchr(text, '=')) return text;
    const char *value = getenv(text);
    char *pair;
    if (!value || asprintf(&pair, "%s=%s", text, value) < 0) return NULL;
    return own(wasi, pair);
}

/* A name that was given before gets the later value. */
static void put_variable(cli_wasi *wasi, const char *pair)
{
    size_t size = strcspn(pair, "=") + 1;
    size_t i = 0;
    while (i < wasi->options.env_count && strncmp(wasi->env[i], pair, size)) i++;
    wasi->env[i] = pair;
    if (i == wasi->options.env_count) wasi->options.env_count++;
}

static int prepare_env(cli_wasi *wasi, const cli_list *env)
{
    for (size_t i = 0; i < env->count; i++) {
        if (!*env->items[i] || *env->items[i] == '=')
            return cli_usage_error(false, wasi->command, "--env: '%s' has no name; give NAME=VALUE or NAME", env->items[i]);
        const char *pair = variable(wasi, env->items[i]);
        if (!pair)
            return cli_usage_error(false, wasi->command, "--env: %s is not set here, so it can't be taken over; give %s=VALUE",
                                   env->items[i], env->items[i]);
        put_variable(wasi, pair);
    }
    return CLI_EXIT_DONE;
}

static int prepare_dir(cli_wasi *wasi, const char *text, tw_wasi_dir *dir)
{
    const char *split = strstr(text, "::");
    struct stat about;
    *dir = (tw_wasi_dir){text, text};
    if (split) {
        dir->host = own(wasi, strndup(text, (size_t)(split - text)));
        dir->guest = split + 2;
        if (!dir->host) return CLI_EXIT_FAILURE;
    }
    if (!*dir->host || !*dir->guest)
        return cli_usage_error(false, wasi->command, "--dir: '%s' is not HOST or HOST::GUEST", text);
    if (stat(dir->host, &about)) return cli_usage_error(false, wasi->command, "--dir: %s: %s", dir->host, strerror(errno));
    if (!S_ISDIR(about.st_mode)) return cli_usage_error(false, wasi->command, "--dir: %s is not a folder", dir->host);
    return CLI_EXIT_DONE;
}

static bool allocate(cli_wasi *wasi, size_t args, size_t env, size_t dirs)
{
    wasi->args = calloc(args + 1, sizeof *wasi->args);
    wasi->env = calloc(env + 1, sizeof *wasi->env);
    wasi->dirs = calloc(dirs + 1, sizeof *wasi->dirs);
    wasi->owned = calloc(env + dirs + 1, sizeof *wasi->owned);
    return wasi->args && wasi->env && wasi->dirs && wasi->owned;
}

int cli_wasi_prepare(cli_wasi *wasi, const cli_list *dirs, const cli_list *env, const char *argv0,
                     const cli_operands *operands)
{
    *wasi = (cli_wasi){.command = wasi->command, .options = TW_WASI_OPTIONS_INIT};
    if (!allocate(wasi, operands->count, env->count, dirs->count)) {
        cli_say("out of memory");
        return CLI_EXIT_FAILURE;
    }
    prepare_args(wasi, argv0, operands);
    int code = prepare_env(wasi, env);
    for (size_t i = 0; !code && i < dirs->count; i++) code = prepare_dir(wasi, dirs->items[i], &wasi->dirs[i]);
    wasi->options.args = wasi->args;
    wasi->options.arg_count = operands->count;
    wasi->options.env = wasi->env;
    wasi->options.dirs = wasi->dirs;
    wasi->options.dir_count = dirs->count;
    wasi->options.inherit_stdin = wasi->options.inherit_stdout = wasi->options.inherit_stderr = true;
    return code;
}

void cli_wasi_free(cli_wasi *wasi)
{
    for (size_t i = 0; i < wasi->owned_count; i++) free(wasi->owned[i]);
    free(wasi->owned);
    free(wasi->args);
    free(wasi->env);
    free(wasi->dirs);
    *wasi = (cli_wasi){.options = TW_WASI_OPTIONS_INIT};
}
