/* SPDX-License-Identifier: Apache-2.0 */
/* A relocatable object becomes one block: its code and read-only sections one after another, the distances between them
 * filled in. Nothing may point outside: an undefined symbol (a library call that LLVM thought of), an absolute address
 * or writable data is a failure. */

#include <elf.h>
#include <string.h>

#include "codegen/inside.h"

enum { MAX_SECTIONS = 256, MAX_CODE = 64 << 20, BLOCK_ALIGNMENT = 64 };

typedef struct object {
    const uint8_t *bytes;
    size_t size;
    Elf64_Ehdr header;
    Elf64_Shdr sections[MAX_SECTIONS];
    uint64_t placed[MAX_SECTIONS]; /* offset in the block + 1; 0: left out */
    uint32_t count;
    const char *names;
    size_t names_size;
    tw_error *error;
} object;

#define BAD(o, ...) return tw_fail((o)->error, TW_REFUSED, __VA_ARGS__)

/* Copies a structure out of the object, wherever it lies. */
static bool read_at(const object *o, uint64_t offset, void *out, size_t size)
{
    if (offset > o->size || size > o->size - offset) return false;
    memcpy(out, o->bytes + offset, size);
    return true;
}

static bool string_table(const object *o, uint32_t section, const char **out, size_t *size)
{
    if (section >= o->count) return false;
    const Elf64_Shdr *s = &o->sections[section];
    if (s->sh_type != SHT_STRTAB || s->sh_offset > o->size || s->sh_size > o->size - s->sh_offset || !s->sh_size) return false;
    *out = (const char *)o->bytes + s->sh_offset;
    *size = s->sh_size;
    return (*out)[s->sh_size - 1] == 0;
}

static tw_status read_sections(object *o)
{
    if (!read_at(o, 0, &o->header, sizeof o->header) || memcmp(o->header.e_ident, ELFMAG, SELFMAG) ||
        o->header.e_ident[EI_CLASS] != ELFCLASS64 || o->header.e_type != ET_REL || o->header.e_machine != EM_X86_64)
        BAD(o, "the code generator's output isn't an x86-64 object");
    o->count = o->header.e_shnum;
    if (o->count == 0 || o->count > MAX_SECTIONS || o->header.e_shentsize != sizeof(Elf64_Shdr)) BAD(o, "odd section table");
    if (!read_at(o, o->header.e_shoff, o->sections, o->count * sizeof(Elf64_Shdr))) BAD(o, "section table outside the object");
    if (!string_table(o, o->header.e_shstrndx, &o->names, &o->names_size)) BAD(o, "no section names");
    return TW_OK;
}

static const char *section_name(const object *o, uint32_t index)
{
    uint32_t at = o->sections[index].sh_name;
    return at < o->names_size ? o->names + at : "";
}

/* Code and constants; frames for unwinding are nobody's business. */
static bool is_wanted(const object *o, uint32_t index)
{
    const Elf64_Shdr *s = &o->sections[index];
    return (s->sh_flags & SHF_ALLOC) && s->sh_size && strncmp(section_name(o, index), ".eh_frame", 9) != 0;
}

static tw_status place_sections(object *o, tw_bytes *code)
{
    static const uint8_t padding[BLOCK_ALIGNMENT];
    for (uint32_t i = 0; i < o->count; i++) {
        const Elf64_Shdr *s = &o->sections[i];
        if (!is_wanted(o, i)) continue;
        if (s->sh_type != SHT_PROGBITS || (s->sh_flags & (SHF_WRITE | SHF_TLS)))
            BAD(o, "the kernel has a section that isn't code or constants: %s", section_name(o, i));
        if (s->sh_addralign > BLOCK_ALIGNMENT || s->sh_size > MAX_CODE || code->size > MAX_CODE) BAD(o, "the kernel is too big");
        if (s->sh_offset > o->size || s->sh_size > o->size - s->sh_offset) BAD(o, "a section lies outside the object");
        size_t align = s->sh_addralign ? s->sh_addralign : 1, gap = (align - code->size % align) % align;
        tw_bytes_append(code, padding, gap);
        o->placed[i] = code->size + 1;
        tw_bytes_append(code, o->bytes + s->sh_offset, s->sh_size);
    }
    tw_bytes_append(code, padding, (BLOCK_ALIGNMENT - code->size % BLOCK_ALIGNMENT) % BLOCK_ALIGNMENT);
    return code->failed ? tw_fail_memory(o->error) : TW_OK;
}

static tw_status symbol_at(const object *o, uint32_t table, uint32_t index, Elf64_Sym *out)
{
    const Elf64_Shdr *s = &o->sections[table];
    if (table >= o->count || s->sh_type != SHT_SYMTAB || index >= s->sh_size / sizeof *out ||
        !read_at(o, s->sh_offset + (uint64_t)index * sizeof *out, out, sizeof *out))
        BAD(o, "a symbol lies outside its table");
    return TW_OK;
}

static const char *symbol_name(const object *o, uint32_t table, const Elf64_Sym *symbol)
{
    const char *names;
    size_t size;
    if (!string_table(o, o->sections[table].sh_link, &names, &size) || symbol->st_name >= size) return "?";
    return names + symbol->st_name;
}

/* Offset of a symbol in the block. */
static tw_status resolve(const object *o, uint32_t table, uint32_t index, uint64_t *out)
{
    Elf64_Sym symbol;
    TW_TRY(symbol_at(o, table, index, &symbol));
    if (symbol.st_shndx == SHN_UNDEF) BAD(o, "the kernel calls %s, which kernels don't have", symbol_name(o, table, &symbol));
    if (symbol.st_shndx >= o->count || !o->placed[symbol.st_shndx] || symbol.st_value > o->sections[symbol.st_shndx].sh_size)
        BAD(o, "the kernel refers to %s, which isn't part of it", symbol_name(o, table, &symbol));
    *out = o->placed[symbol.st_shndx] - 1 + symbol.st_value;
    return TW_OK;
}

static tw_status relocate(object *o, const Elf64_Shdr *section, const Elf64_Rela *rela, tw_bytes *code)
{
    uint32_t type = (uint32_t)ELF64_R_TYPE(rela->r_info);
    uint64_t start = o->placed[section->sh_info] - 1, symbol, width = type == R_X86_64_PC64 ? 8 : 4;
    if (type != R_X86_64_PC32 && type != R_X86_64_PLT32 && type != R_X86_64_PC64)
        BAD(o, "the kernel needs a relocation of type %u", type);
    uint64_t size = o->sections[section->sh_info].sh_size;
    if (rela->r_offset > size || width > size - rela->r_offset) BAD(o, "a relocation lies outside its section");
    TW_TRY(resolve(o, section->sh_link, (uint32_t)ELF64_R_SYM(rela->r_info), &symbol));
    int64_t value = (int64_t)symbol + rela->r_addend - (int64_t)(start + rela->r_offset);
    if (width == 4 && value != (int32_t)value) BAD(o, "a distance in the kernel needs more than 32 bits");
    memcpy(code->data + start + rela->r_offset, &value, width); /* little-endian: the low bytes come first */
    return TW_OK;
}

static tw_status relocate_all(object *o, tw_bytes *code)
{
    for (uint32_t i = 0; i < o->count; i++) {
        const Elf64_Shdr *s = &o->sections[i];
        if (s->sh_type == SHT_REL) BAD(o, "the object has relocations without addends");
        if (s->sh_type != SHT_RELA || s->sh_info >= o->count || !o->placed[s->sh_info]) continue;
        for (uint64_t at = 0; at + sizeof(Elf64_Rela) <= s->sh_size; at += sizeof(Elf64_Rela)) {
            Elf64_Rela rela;
            if (!read_at(o, s->sh_offset + at, &rela, sizeof rela)) BAD(o, "a relocation lies outside the object");
            TW_TRY(relocate(o, s, &rela, code));
        }
    }
    return TW_OK;
}

static tw_status find_entry(object *o, const char *wanted, uint32_t *entry)
{
    for (uint32_t table = 0; table < o->count; table++) {
        if (o->sections[table].sh_type != SHT_SYMTAB) continue;
        for (uint32_t i = 1; i < o->sections[table].sh_size / sizeof(Elf64_Sym); i++) {
            Elf64_Sym symbol;
            uint64_t at;
            TW_TRY(symbol_at(o, table, i, &symbol));
            if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || strcmp(symbol_name(o, table, &symbol), wanted)) continue;
            TW_TRY(resolve(o, table, i, &at));
            *entry = (uint32_t)at;
            return TW_OK;
        }
    }
    BAD(o, "the object has no %s", wanted);
}

tw_status tw_flatten(const uint8_t *bytes, size_t size, const char *symbol, tw_bytes *code, uint32_t *entry, tw_error *error)
{
    object o = {.bytes = bytes, .size = size, .error = error};
    TW_TRY(read_sections(&o));
    TW_TRY(place_sections(&o, code));
    TW_TRY(relocate_all(&o, code));
    return find_entry(&o, symbol, entry);
}
