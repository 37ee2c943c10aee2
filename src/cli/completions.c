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

/* ---- bash ---- */

static void print_command_names(FILE *out)
{
    const cli_command *command;
    for (size_t i = 0; (command = cli_command_at(i)); i++)
        if (!command->hidden) fprintf(out, " %s", command->name);
}

static void print_bash_values(FILE *out, const cli_command *command)
{
    for (size_t i = 0; i < command->option_count; i++) {
        const cli_option *option = &command->options[i];
        if (!takes_value(option)) continue;
        fprintf(out, "        %s:--%s) ", command->name, option->name);
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
    fprintf(out, "        %s) options='--help", command->name);
    for (size_t i = 0; i < command->option_count; i++)
        if (command->options[i].kind != CLI_HEADING) fprintf(out, " --%s", command->options[i].name);
    fputs("' ;;\n", out);
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
    print_command_names(out);
    fputs("' -- \"$word\"))\n        return\n    fi\n    case $command:$before in\n"
          "        help:*) COMPREPLY=($(compgen -W '",
          out);
    print_command_names(out);
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

void cli_print_zsh_completion(FILE *out)
{
    const cli_command *command;
    fputs("#compdef tensor-wasm\n"
          "# zsh completion for tensor-wasm\n"
          "_tensor_wasm() {\n"
          "    local -a commands\n"
          "    commands=(\n",
          out);
    for (size_t i = 0; (command = cli_command_at(i)); i++) {
        if (command->hidden) continue;
        fprintf(out, "        '%s:", command->name);
        print_quoted(out, command->summary, ":\\");
        fputs("'\n", out);
    }
    fputs("    )\n"
          "    if (( CURRENT == 2 )); then\n"
          "        _describe command commands\n"
          "        _files\n"
          "        return\n"
          "    fi\n"
          "    local name=$words[2]\n"
          "    shift words\n"
          "    (( CURRENT-- ))\n"
          "    case $name in\n",
          out);
    for (size_t i = 0; (command = cli_command_at(i)); i++) {
        if (command->hidden) continue;
        fprintf(out, "        %s)\n            _arguments \\\n", command->name);
        for (size_t k = 0; k < command->option_count; k++) print_zsh_option(out, &command->options[k]);
        fputs("                '--help[prints help]' \\\n                '*:file:_files' ;;\n", out);
    }
    fputs("        *) _files ;;\n    esac\n}\n_tensor_wasm \"$@\"\n", out);
}

/* ---- fish ---- */

static void print_fish_option(FILE *out, const cli_command *command, const cli_option *option)
{
    if (option->kind == CLI_HEADING) return;
    fprintf(out, "complete -c tensor-wasm -n '__fish_seen_subcommand_from %s' -l %s", command->name, option->name);
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
        fprintf(out, "complete -c tensor-wasm -n __fish_use_subcommand -a %s -d '", command->name);
        print_quoted(out, command->summary, "\\");
        fputs("'\n", out);
        for (size_t k = 0; k < command->option_count; k++) print_fish_option(out, command, &command->options[k]);
    }
}
