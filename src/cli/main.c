/* SPDX-License-Identifier: Apache-2.0 */
/* tensor-wasm: the command line.
 *
 *   main.c       which command
 *   command.h    the vocabulary: commands and options as tables; commands.c lists them
 *   parse.c      argv into settings, from the tables
 *   help.c, man.c, completions.c   the same tables for people, man(1) and shells
 *   guest.c      a guest's life, with wasi.c (what it sees), invoke.c (what is called), watch.c (the time limit)
 *   run.c, save.c   run; snapshot save and restore: guest.c with other options
 *   bench.c      many starts of one guest: starts.c, with latency.c
 *   state.c      snapshot files as they are read and written, for snapshot.c (inspect, verify), convert.c, diff.c, export.c too
 *   validate.c, inspect.c, devices.c, doctor.c, generate.c   the other commands
 *   value.c, units.c, suggest.c, input.c, message.c   what they share
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/help.h"
#include "cli/message.h"
#include "cli/parse.h"
#include "cli/suggest.h"
#include "tensorwasm/tensorwasm.h"

static int print_version(void)
{
    printf("%s %s\n", CLI_PROGRAM, tw_version());
    return CLI_EXIT_DONE;
}

/* A word that isn't a command is a module when it looks like one: a path, a name with a dot, stdin, a file. */
static bool looks_like_module(const char *word)
{
    return strchr(word, '/') || strchr(word, '.') || !strcmp(word, "-") || access(word, F_OK) == 0;
}

/* group NULL: a command that stands alone, or a group. */
static void offer_commands(cli_suggestion *near, const char *group)
{
    const cli_command *command;
    for (size_t i = 0; (command = cli_command_at(i)); i++) {
        const char *word = cli_word_in_group(command, group);
        if (word && !command->hidden) cli_suggestion_offer(near, word);
    }
    if (!group) cli_suggestion_offer(near, "snapshot");
}

static int unknown_command(const char *word)
{
    cli_suggestion near;
    cli_suggestion_init(&near, word);
    offer_commands(&near, NULL);
    if (near.best)
        return cli_usage_error(false, NULL, "no command and no file is called '%s'; did you mean '%s'?", word,
                               near.best);
    return cli_usage_error(false, NULL, "no command and no file is called '%s'", word);
}

static int unknown_in_group(const char *group, const char *word)
{
    cli_suggestion near;
    cli_suggestion_init(&near, word);
    offer_commands(&near, group);
    if (near.best) return cli_usage_error(false, group, "no command '%s %s'; did you mean '%s %s'?", group, word, group, near.best);
    return cli_usage_error(false, group, "no command '%s %s'", group, word);
}

static bool is_help(const char *word) { return !strcmp(word, "--help") || !strcmp(word, "-h"); }

static int dispatch_in_group(const char *group, int argc, char **argv)
{
    if (argc < 3) {
        cli_print_group(stderr, group);
        return CLI_EXIT_USAGE;
    }
    if (is_help(argv[2])) {
        cli_print_group(stdout, group);
        return CLI_EXIT_DONE;
    }
    const cli_command *command = cli_command_in_group(group, argv[2]);
    return command ? cli_parse_and_run(command, argv + 3, (size_t)argc - 3) : unknown_in_group(group, argv[2]);
}

static int dispatch(int argc, char **argv)
{
    if (argc < 2) {
        cli_print_overview(stderr);
        return CLI_EXIT_USAGE;
    }
    const char *word = argv[1];
    if (!strcmp(word, "--version") || !strcmp(word, "-V")) return print_version();
    if (is_help(word)) {
        cli_print_overview(stdout);
        return CLI_EXIT_DONE;
    }
    if (cli_is_group(word)) return dispatch_in_group(word, argc, argv);
    const cli_command *command = cli_command_in_group(NULL, word);
    if (command) return cli_parse_and_run(command, argv + 2, (size_t)argc - 2);
    /* `tensor-wasm [options of run] MODULE` */
    if ((word[0] == '-' && word[1]) || looks_like_module(word))
        return cli_parse_and_run(&cli_run, argv + 1, (size_t)argc - 1);
    return unknown_command(word);
}

/* A standard stream that came closed gives its number to the next file that we open, and a guest would write to that. Something
 * that can't be read or can't be written holds its place, so that using it fails as before. */
static bool hold_streams(void)
{
    static const int modes[] = {[STDIN_FILENO] = O_WRONLY, [STDOUT_FILENO] = O_RDONLY, [STDERR_FILENO] = O_RDONLY};
    for (int file = STDIN_FILENO; file <= STDERR_FILENO; file++)
        if (fcntl(file, F_GETFD) < 0 && errno == EBADF && open("/dev/null", modes[file]) != file) return false;
    return true;
}

/* Output that couldn't be written is a failure, even of --help. */
int main(int argc, char **argv)
{
    if (!hold_streams()) return CLI_EXIT_FAILURE;
    int code = dispatch(argc, argv);
    bool failed = ferror(stdout);
    if (fflush(stdout) || failed) {
        cli_say("the output can't be written");
        if (code == CLI_EXIT_DONE) code = CLI_EXIT_FAILURE;
    }
    return code;
}
