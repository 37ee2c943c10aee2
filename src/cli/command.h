/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CLI_COMMAND_H
#define TW_CLI_COMMAND_H

/* The vocabulary of the command line.
 *
 * A command is one table: its options with where each value goes, its operands, its prose and its examples. Everything
 * that speaks of options comes from that table: the parser (parse.c), --help (help.c), the man page (man.c) and the
 * shells' completions (completions.c). To add an option, add a row and a field of the command's settings. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLI_PROGRAM "tensor-wasm"

/* How the program ends: X(NAME, code, "meaning"). The guest's own exit code comes through as it is. */
#define CLI_EXIT_MAP(X)                                                                                                \
    X(DONE, 0, "done; or the guest's own exit code, whatever that is")                                                 \
    X(FAILURE, 1, "the module is not valid, can't be linked, a file can't be read, and other failures")                \
    X(USAGE, 2, "the command line can't be meant: nothing was run")                                                    \
    X(TIMEOUT, 124, "the time limit of --timeout ended the guest")                                                     \
    X(INTERRUPTED, 130, "Ctrl-C ended a measurement")                                                                  \
    X(TRAP, 134, "the guest trapped")

enum {
#define CLI_EXIT_ENUM(name, code, meaning) CLI_EXIT_##name = code,
    CLI_EXIT_MAP(CLI_EXIT_ENUM)
#undef CLI_EXIT_ENUM
};

/* What an option's value is, and the type of the settings field that it is written to. */
typedef enum cli_kind {
    CLI_HEADING,  /* no option: `help` is a heading over the rows that follow */
    CLI_FLAG,     /* bool; takes no value */
    CLI_TEXT,     /* const char * */
    CLI_CHOICE,   /* int: which of the words of `value`, "off|auto|force", counted from 0 */
    CLI_COUNT,    /* uint32_t */
    CLI_NUMBER,   /* uint64_t */
    CLI_SIZE,     /* uint64_t, bytes */
    CLI_DURATION, /* uint64_t, nanoseconds, never 0 */
    CLI_LIST,     /* cli_list: the option may be given again */
} cli_kind;

typedef struct cli_list {
    const char **items; /* the texts are argv's */
    size_t count;
} cli_list;

/* What a shell offers to complete a value with. */
typedef enum cli_hint { CLI_HINT_NONE, CLI_HINT_FILE, CLI_HINT_FOLDER } cli_hint;

typedef struct cli_option {
    cli_kind kind;
    char letter;       /* 'q' for -q; 0 = none */
    const char *name;  /* without the dashes */
    const char *value; /* the value's name in help; the words of a choice; NULL for flags */
    size_t field;      /* offset in the command's settings */
    const char *help;  /* no capital, no full stop at the end */
    cli_hint hint;
} cli_option;

typedef struct cli_example {
    const char *line, *says;
} cli_example;

typedef struct cli_operands {
    char **items;
    size_t count;
} cli_operands;

typedef struct cli_command {
    const char *name;     /* one word, or two */
    const char *operands; /* "MODULE [args...]" */
    const char *summary;  /* one line: what it does */
    const char *text;     /* paragraphs, each one line, separated by '\n' */
    const cli_option *options;
    size_t option_count;
    const cli_example *examples;
    size_t example_count;
    const void *defaults;
    size_t settings_size; /* settings start as a copy of these bytes */
    size_t min_operands, max_operands;
    bool rest_is_guests; /* the first operand ends the options */
    bool takes_numbers;  /* -5, -.5, -inf and the like are operands, as everything behind `--` is */
    bool hidden;         /* not in help, man page and completions */
    /* Gives the exit code. Settings and operands are valid until it returns. */
    int (*run)(const void *settings, const cli_operands *operands);
} cli_command;

#define CLI_LENGTH(array) (sizeof(array) / sizeof *(array))

/* Every command, in the order of help; NULL past the end. */
const cli_command *cli_command_at(size_t index);
/* NULL when there is none of that name. */
const cli_command *cli_command_find(const char *name);

/* A command whose name is two words belongs to the group of the first: "snapshot save". */
bool cli_is_group(const char *word);
/* Of the commands in `group`, or of those in none for NULL: the word that is typed; NULL for others. */
const char *cli_word_in_group(const cli_command *command, const char *group);
/* NULL when there is none. */
const cli_command *cli_command_in_group(const char *group, const char *word);

extern const cli_command cli_run, cli_validate, cli_inspect, cli_bench, cli_snapshot_save, cli_snapshot_restore, cli_snapshot_inspect,
    cli_snapshot_verify, cli_snapshot_convert, cli_snapshot_diff, cli_snapshot_export, cli_devices, cli_doctor, cli_help, cli_generate, cli_finish_kernels;

#endif
