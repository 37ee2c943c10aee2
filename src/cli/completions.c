/* SPDX-License-Identifier: Apache-2.0 */
/* Completions for three shells. All of them offer the commands first, then a command's options, then the words of a
 * choice, and files elsewhere. */
#include <string.h>

#include "cli/command.h"
#include "cli/generate.h"

/* Inside single quotes. Those of the text end them, give a quote, and begin them again: bash, zsh and fish agree on that. */
static void print_quoted(FILE *out, const char *text, const char *escaped)
{
    for (; *text; text++) {
        if (strchr(escaped, *text)) fputc('\\', out);
        if (*text == '\'') fputs("'\\''", out);
        else fputc(*text, out);
    }
}

static void print_words(FILE *out, const char *choices)
{
    for (; *choices; choices++) fputc(*choices == '|' ? ' ' : *choices, out);
}

static bool takes_value(const cli_option *option)
{
    return option->kind != CLI_HEADING && option->kind != CLI_FLAG;
}

/* ---- groups ---- */

enum { GROUP = 32 };

/* The group's name where its first command stands at `index`: groups lie together in the list. */
static bool group_begins(size_t index, char group[GROUP])
{
    const char *name = cli_command_at(index)->name, *space = strchr(name, ' ');
    if (!space) return false;
    snprintf(group, GROUP, "%.*s", (int)(space - name), name);
    return !index || !cli_word_in_group(cli_command_at(index - 1), group);
}

/* Commands that stand alone and groups; or, with a group, its commands. */
static void print_command_names(FILE *out, const char *group)
{
    const cli_command *command;
    char name[GROUP];
    for (size_t i = 0; (command = cli_command_at(i)); i++) {
        const char *word = cli_word_in_group(command, group);
        if (word && !command->hidden) fprintf(out, " %s", word);
        if (!group && group_begins(i, name)) fprintf(out, " %s", name);
    }
}

/* ---- bash ---- */

static void print_bash_values(FILE *out, const cli_command *command)
{
    for (size_t i = 0; i < command->option_count; i++) {
        const cli_option *option = &command->options[i];
        if (!takes_value(option)) continue;
        fprintf(out, "        '%s':--%s) ", command->name, option->name);
        if (option->kind == CLI_CHOICE) {
            fputs("COMPREPLY=($(compgen -W '", out);
            print_words(out, option->value);
            fputs("' -- \"$word\")); return ;;\n", out);
        } else if (option->hint == CLI_HINT_FOLDER) {
            fputs("COMPREPLY=($(compgen -d -- \"$word\")); return ;;\n", out);
        } else if (option->hint == CLI_HINT_FILE) {
            fputs("COMPREPLY=($(compgen -f -- \"$word\")); return ;;\n", out);
        } else {
            fputs("return ;;\n", out);
        }
    }
}

static void print_bash_options(FILE *out, const cli_command *command)
{
    fprintf(out, "        '%s') options='--help", command->name);
    for (size_t i = 0; i < command->option_count; i++)
        if (command->options[i].kind != CLI_HEADING) fprintf(out, " --%s", command->options[i].name);
    fputs("' ;;\n", out);
}

/* The second word is offered; behind it, both are the command. */
static void print_bash_groups(FILE *out)
{
    char group[GROUP];
    for (size_t i = 0; cli_command_at(i); i++) {
        if (!group_begins(i, group)) continue;
        fprintf(out, "    if [ \"$command\" = %s ]; then\n        if [ \"$COMP_CWORD\" = 2 ]; then\n"
                     "            COMPREPLY=($(compgen -W '--help", group);
        print_command_names(out, group);
        fputs("' -- \"$word\"))\n            return\n        fi\n        command+=\" ${COMP_WORDS[2]}\"\n    fi\n", out);
    }
}

void cli_print_bash_completion(FILE *out)
{
    const cli_command *command;
    fputs(
        "# bash completion for tensor-wasm\n"
        "_tensor_wasm() {\n"
        "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]} options=\n"
        "    # \"--x=V\" arrives as three words\n"
        "    [ \"$before\" = = ] && before=${COMP_WORDS[COMP_CWORD-2]}\n"
        "    [ \"$word\" = = ] && { before=${COMP_WORDS[COMP_CWORD-1]}; word=; }\n"
        "    if [ \"$COMP_CWORD\" = 1 ]; then\n"
        "        COMPREPLY=($(compgen -f -W '--help --version",
        out);
    print_command_names(out, NULL);
    fputs("' -- \"$word\"))\n        return\n    fi\n", out);
    print_bash_groups(out);
    fputs("    case $command:$before in\n        help:*) COMPREPLY=($(compgen -W '", out);
    print_command_names(out, NULL);
    fputs("' -- \"$word\")); return ;;\n", out);
    for (size_t i = 0; (command = cli_command_at(i)); i++)
        if (!command->hidden) print_bash_values(out, command);
    fputs("    esac\n    case $command in\n", out);
    for (size_t i = 0; (command = cli_command_at(i)); i++)
        if (!command->hidden) print_bash_options(out, command);
    fputs("    esac\n"
          "    case $word in\n"
          "        -*) COMPREPLY=($(compgen -W \"$options\" -- \"$word\")) ;;\n"
          "        *) COMPREPLY=($(compgen -f -- \"$word\")) ;;\n"
          "    esac\n"
          "}\n"
          "complete -o filenames -F _tensor_wasm tensor-wasm\n",
          out);
}

/* ---- zsh ---- */

static void print_zsh_action(FILE *out, const cli_option *option)
{
    fputs(":", out);
    print_quoted(out, option->kind == CLI_CHOICE ? option->name : option->value, ":[]\\");
    fputs(":", out);
    if (option->kind == CLI_CHOICE) {
        fputs("(", out);
        print_words(out, option->value);
        fputs(")", out);
    } else if (option->hint == CLI_HINT_FOLDER) {
        fputs("_files -/", out);
    } else if (option->hint == CLI_HINT_FILE) {
        fputs("_files", out);
    }
}

static void print_zsh_option(FILE *out, const cli_option *option)
{
    if (option->kind == CLI_HEADING) return;
    fprintf(out, "                '%s--%s%s[", option->kind == CLI_LIST ? "*" : "", option->name,
            takes_value(option) ? "=" : "");
    print_quoted(out, option->help, ":[]\\");
    fputs("]", out);
    if (takes_value(option)) print_zsh_action(out, option);
    fputs("' \\\n", out);
}

static void print_zsh_command(FILE *out, const char *word, const char *summary)
{
    fprintf(out, "        '%s:", word);
    print_quoted(out, summary, ":\\");
    fputs("'\n", out);
}

static void print_zsh_commands(FILE *out, const char *group)
{
    const cli_command *command;
    char name[GROUP];
    for (size_t i = 0; (command = cli_command_at(i)); i++) {
        const char *word = cli_word_in_group(command, group);
        if (word && !command->hidden) print_zsh_command(out, word, command->summary);
        if (!group && group_begins(i, name)) print_zsh_command(out, name, "has commands of its own");
    }
}

static void print_zsh_groups(FILE *out)
{
    char group[GROUP];
    for (size_t i = 0; cli_command_at(i); i++) {
        if (!group_begins(i, group)) continue;
        fprintf(out, "    if [[ $name == %s ]]; then\n        commands=(\n", group);
        print_zsh_commands(out, group);
        fputs("        )\n        if (( CURRENT == 2 )); then\n            _describe command commands\n            return\n        fi\n"
              "        name+=\" $words[2]\"\n        shift words\n        (( CURRENT-- ))\n    fi\n",
              out);
    }
}

void cli_print_zsh_completion(FILE *out)
{
    const cli_command *command;
    fputs("#compdef tensor-wasm\n"
          "# zsh completion for tensor-wasm\n"
          "_tensor_wasm() {\n"
          "    local -a commands\n"
          "    commands=(\n",
          out);
    print_zsh_commands(out, NULL);
    fputs("    )\n"
          "    if (( CURRENT == 2 )); then\n"
          "        _describe command commands\n"
          "        _files\n"
          "        return\n"
          "    fi\n"
          "    local name=$words[2]\n"
          "    shift words\n"
          "    (( CURRENT-- ))\n",
          out);
    print_zsh_groups(out);
    fputs("    case $name in\n", out);
    for (size_t i = 0; (command = cli_command_at(i)); i++) {
        if (command->hidden) continue;
        fprintf(out, "        '%s')\n            _arguments \\\n", command->name);
        for (size_t k = 0; k < command->option_count; k++) print_zsh_option(out, &command->options[k]);
        fputs("                '--help[prints help]' \\\n                '*:file:_files' ;;\n", out);
    }
    fputs("        *) _files ;;\n    esac\n}\n_tensor_wasm \"$@\"\n", out);
}

/* ---- fish ---- */

/* Each word of the name has been typed. */
static void print_fish_condition(FILE *out, const char *name)
{
    const char *space = strchr(name, ' ');
    if (space) fprintf(out, "__fish_seen_subcommand_from %.*s; and ", (int)(space - name), name);
    fprintf(out, "__fish_seen_subcommand_from %s", space ? space + 1 : name);
}

static void print_fish_command(FILE *out, const char *condition, const char *word, const char *summary)
{
    fprintf(out, "complete -c tensor-wasm -n '%s' -a %s -d '", condition, word);
    print_quoted(out, summary, "\\");
    fputs("'\n", out);
}

static void print_fish_name(FILE *out, size_t index)
{
    const cli_command *command = cli_command_at(index);
    const char *space = strchr(command->name, ' ');
    char group[GROUP], condition[GROUP + 32];
    if (group_begins(index, group)) print_fish_command(out, "__fish_use_subcommand", group, "has commands of its own");
    if (!space) {
        print_fish_command(out, "__fish_use_subcommand", command->name, command->summary);
        return;
    }
    snprintf(condition, sizeof condition, "__fish_seen_subcommand_from %.*s", (int)(space - command->name), command->name);
    print_fish_command(out, condition, space + 1, command->summary);
}

static void print_fish_option(FILE *out, const cli_command *command, const cli_option *option)
{
    if (option->kind == CLI_HEADING) return;
    fputs("complete -c tensor-wasm -n '", out);
    print_fish_condition(out, command->name);
    fprintf(out, "' -l %s", option->name);
    if (option->letter) fprintf(out, " -s %c", option->letter);
    if (takes_value(option)) fputs(option->hint == CLI_HINT_NONE ? " -x" : " -r", out);
    if (option->hint == CLI_HINT_FOLDER) fputs(" -a '(__fish_complete_directories)'", out);
    if (option->kind == CLI_CHOICE) {
        fputs(" -a '", out);
        print_words(out, option->value);
        fputs("'", out);
    }
    fputs(" -d '", out);
    print_quoted(out, option->help, "\\");
    fputs("'\n", out);
}

void cli_print_fish_completion(FILE *out)
{
    fputs("# fish completion for tensor-wasm\n"
          "complete -c tensor-wasm -n __fish_use_subcommand -l help -d 'prints help'\n"
          "complete -c tensor-wasm -n __fish_use_subcommand -l version -d 'prints the version'\n",
          out);
    const cli_command *command;
    for (size_t i = 0; (command = cli_command_at(i)); i++) {
        if (command->hidden) continue;
        print_fish_name(out, i);
        for (size_t k = 0; k < command->option_count; k++) print_fish_option(out, command, &command->options[k]);
    }
}
