/* Basic types and instructions. */
#pragma once
typedef unsigned char UCHAR;
typedef char CHAR;
typedef unsigned short USHORT, WCHAR;
typedef short SHORT;
typedef unsigned int ULONG;
typedef int LONG;
typedef unsigned long long ULONG64;
typedef long long LONG64;
typedef void VOID, *PVOID;

#define NULL ((void *)0)
#define CONTAINING_RECORD(address, type, member) ((type *)((UCHAR *)(address) - __builtin_offsetof(type, member)))

static inline void outb(USHORT port, UCHAR value) { __asm__ volatile("outb %0, %1" ::"a"(value), "Nd"(port)); }
static inline void outw(USHORT port, USHORT value) { __asm__ volatile("outw %0, %1" ::"a"(value), "Nd"(port)); }
static inline void outl(USHORT port, ULONG value) { __asm__ volatile("outl %0, %1" ::"a"(value), "Nd"(port)); }
static inline UCHAR inb(USHORT port) { UCHAR value; __asm__ volatile("inb %1, %0" : "=a"(value) : "Nd"(port)); return value; }
static inline USHORT inw(USHORT port) { USHORT value; __asm__ volatile("inw %1, %0" : "=a"(value) : "Nd"(port)); return value; }
static inline ULONG inl(USHORT port) { ULONG value; __asm__ volatile("inl %1, %0" : "=a"(value) : "Nd"(port)); return value; }
static inline ULONG64 read_cr0(void) { ULONG64 value; __asm__ volatile("mov %%cr0, %0" : "=r"(value)); return value; }
static inline ULONG64 read_cr2(void) { ULONG64 value; __asm__ volatile("mov %%cr2, %0" : "=r"(value)); return value; }
static inline ULONG64 read_cr3(void) { ULONG64 value; __asm__ volatile("mov %%cr3, %0" : "=r"(value)); return value; }
static inline ULONG64 read_cr4(void) { ULONG64 value; __asm__ volatile("mov %%cr4, %0" : "=r"(value)); return value; }
static inline ULONG64 read_cr8(void) { ULONG64 value; __asm__ volatile("mov %%cr8, %0" : "=r"(value)); return value; }
static inline void write_cr8(ULONG64 value) { __asm__ volatile("mov %0, %%cr8" ::"r"(value) : "memory"); }
static inline ULONG64 read_dr6(void) { ULONG64 value; __asm__ volatile("mov %%dr6, %0" : "=r"(value)); return value; }
static inline void invalidate(PVOID page) { __asm__ volatile("invlpg (%0)" ::"r"(page) : "memory"); }
static inline ULONG64 read_msr(ULONG number)
{
    ULONG low, high;
    __asm__ volatile("rdmsr" : "=a"(low), "=d"(high) : "c"(number));
    return low | (ULONG64)high << 32;
}
static inline void write_msr(ULONG number, ULONG64 value)
{
    __asm__ volatile("wrmsr" ::"a"((ULONG)value), "d"((ULONG)(value >> 32)), "c"(number));
}
