/* SPDX-License-Identifier: Apache-2.0 */
/* tensor-wasm: the command line.
 *
 *   main.c       which command
 *   command.h    the vocabulary: commands and options as tables; commands.c lists them
 *   parse.c      argv into settings, from the tables
 *   help.c, man.c, completions.c   the same tables for people, man(1) and shells
 *   run.c        run, with wasi.c (what the guest sees), invoke.c (what is called), watch.c (the time limit)
 *   validate.c, inspect.c, snapshot.c, doctor.c, generate.c   the other commands
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

static int unknown_command(const char *word)
{
    cli_suggestion near;
    cli_suggestion_init(&near, word);
    const cli_command *command;
    for (size_t i = 0; (command = cli_command_at(i)); i++)
        if (!command->hidden) cli_suggestion_offer(&near, command->name);
    if (near.best)
        return cli_usage_error(false, NULL, "no command and no file is called '%s'; did you mean '%s'?", word,
                               near.best);
    return cli_usage_error(false, NULL, "no command and no file is called '%s'", word);
}

static int dispatch(int argc, char **argv)
{
    if (argc < 2) {
        cli_print_overview(stderr);
        return CLI_EXIT_USAGE;
    }
    const char *word = argv[1];
    if (!strcmp(word, "--version") || !strcmp(word, "-V")) return print_version();
    if (!strcmp(word, "--help") || !strcmp(word, "-h")) {
        cli_print_overview(stdout);
        return CLI_EXIT_DONE;
    }
    const cli_command *command = cli_command_find(word);
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
