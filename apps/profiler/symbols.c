// SPDX-License-Identifier: Apache-2.0
//
// Finds functions of MPI that the program or its libraries import and functions.txt lacks.
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "profiler/profiler.h"

struct list {
  char* names;  // separated by blanks
  size_t size;
};

static bool is_mpi_library(const char* path) {
  static const char* const prefixes[] = {"libmpi", "libpmpi", "libopen-",
                                         "libfabricbench_profiler"};
  const char* base = strrchr(path, '/');
  base = base ? base + 1 : path;
  for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
    if (strncmp(base, prefixes[i], strlen(prefixes[i])) == 0) return true;
  return false;
}

// Removes what Fortran bindings add to a name.
static void strip(char* name) {
  static const char* const suffixes[] = {"_f08ts", "_f08"};
  size_t length = strlen(name);
  while (length > 0 && name[length - 1] == '_') name[--length] = '\0';
  for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
    size_t suffix = strlen(suffixes[i]);
    if (length > suffix && strcmp(name + length - suffix, suffixes[i]) == 0) {
      name[length - suffix] = '\0';
      return;
    }
  }
}

static bool is_known(const char* symbol) {
  char name[128];
  snprintf(name, sizeof name, "%s", symbol);
  if (symbol[0] == 'm') strip(name);
  size_t length = strlen(name);
  if (strncasecmp(name, "MPI_T_", 6) == 0 || strncasecmp(name, "MPIX_Query_", 11) == 0) return true;
  if (length > 3 && strcasecmp(name + length - 3, "_fn") == 0) return true;
  for (size_t i = 0; i < known_function_count; i++)
    if (strcasecmp(known_functions[i], name) == 0) return true;
  return false;
}

static bool defined_by_mpi(const char* symbol) {
  Dl_info info;
  void* address = dlsym(RTLD_DEFAULT, symbol);
  return address && dladdr(address, &info) && info.dli_fname && is_mpi_library(info.dli_fname);
}

static bool contains(const struct list* list, const char* name) {
  size_t length = strlen(name);
  for (const char* at = list->names; (at = strstr(at, name)); at += length)
    if ((at == list->names || at[-1] == ' ') && (at[length] == ' ' || !at[length])) return true;
  return false;
}

static void check(struct list* list, const char* symbol) {
  bool c_name = strncmp(symbol, "MPI_", 4) == 0 || strncmp(symbol, "MPIX_", 5) == 0;
  bool fortran_name = strncmp(symbol, "mpi_", 4) == 0 && symbol[strlen(symbol) - 1] == '_';
  if ((!c_name && !fortran_name) || is_known(symbol) || contains(list, symbol)) return;
  if (!defined_by_mpi(symbol)) return;
  size_t used = strlen(list->names);
  snprintf(list->names + used, list->size - used, "%s%s", used ? " " : "", symbol);
}

// glibc has relocated the addresses of the dynamic section; other loaders have not.
static const void* address_in(const struct dl_phdr_info* object, ElfW(Addr) value) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the loader's tables hold addresses as integers
  return (const void*)(value < object->dlpi_addr ? object->dlpi_addr + value : value);
}

// Undefined symbols precede those of the hash table.
static void read_symbols(struct list* list, const struct dl_phdr_info* object,
                         const ElfW(Dyn) * dynamic) {
  const ElfW(Sym)* symbols = NULL;
  const char* strings = NULL;
  const uint32_t *gnu_hash = NULL, *hash = NULL;
  for (; dynamic->d_tag != DT_NULL; dynamic++) {
    const void* address = address_in(object, dynamic->d_un.d_ptr);
    if (dynamic->d_tag == DT_SYMTAB) symbols = address;
    if (dynamic->d_tag == DT_STRTAB) strings = address;
    if (dynamic->d_tag == DT_GNU_HASH) gnu_hash = address;
    if (dynamic->d_tag == DT_HASH) hash = address;
  }
  if (!symbols || !strings || (!gnu_hash && !hash)) return;
  uint32_t count = gnu_hash ? gnu_hash[1] : hash[1];
  const uint32_t* buckets =
      gnu_hash ? gnu_hash + 4 + gnu_hash[2] * (sizeof(ElfW(Addr)) / sizeof *gnu_hash) : NULL;
  bool exports_none = gnu_hash && gnu_hash[0] == 1 && buckets[0] == 0;
  if (exports_none && strings > (const char*)symbols)  // the linker then writes 1 as the count
    count = (uint32_t)((size_t)(strings - (const char*)symbols) / sizeof *symbols);
  for (uint32_t i = 1; i < count; i++) {
    unsigned type = symbols[i].st_info & 0xF;
    if (symbols[i].st_shndx == SHN_UNDEF && (type == STT_FUNC || type == STT_NOTYPE))
      check(list, strings + symbols[i].st_name);
  }
}

static int read_object(struct dl_phdr_info* object, size_t size, void* context) {
  (void)size;
  bool is_program = !*object->dlpi_name;
  if (!is_program && (!strchr(object->dlpi_name, '/') || is_mpi_library(object->dlpi_name)))
    return 0;
  for (int i = 0; i < object->dlpi_phnum; i++)
    if (object->dlpi_phdr[i].p_type == PT_DYNAMIC)
      read_symbols(context, object, address_in(object, object->dlpi_phdr[i].p_vaddr));
  return 0;
}

void symbols_unknown(char* names, size_t size) {
  struct list list = {.names = names, .size = size};
  names[0] = '\0';
  dl_iterate_phdr(read_object, &list);
}
