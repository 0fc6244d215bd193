/* Text and memory helpers that the compiler or everybody needs. */
#include "kernel.h"

void *memcpy(void *to, const void *from, ULONG64 size)
{
    void *start = to;
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size)::"memory");
    return start;
}

void *memset(void *to, int value, ULONG64 size)
{
    void *start = to;
    __asm__ volatile("rep stosb" : "+D"(to), "+c"(size) : "a"(value) : "memory");
    return start;
}

int TextEqual(const CHAR *one, const CHAR *other)
{
    while (*one && *one == *other)
        one++, other++;
    return *one == *other;
}

static ULONG Number(CHAR *out, ULONG64 value, ULONG base)
{
    CHAR digits[24];
    ULONG count = 0, length = 0;
    do {
        digits[count++] = "0123456789abcdef"[value % base];
        value /= base;
    } while (value);
    while (count)
        out[length++] = digits[--count];
    return length;
}

/* %s %d (ULONG) %x (ULONG64) %p (ULONG64, 16 digits) */
ULONG FormatText(CHAR *buffer, ULONG size, const CHAR *format, __builtin_va_list arguments)
{
    ULONG length = 0;
    for (; *format && length + 24 < size; format++) {
        if (*format != '%') {
            buffer[length++] = *format;
            continue;
        }
        switch (*++format) {
        case 's': {
            const CHAR *text = __builtin_va_arg(arguments, const CHAR *);
            while (*text && length + 24 < size)
                buffer[length++] = *text++;
            break;
        }
        case 'd':
            length += Number(buffer + length, __builtin_va_arg(arguments, ULONG), 10);
            break;
        case 'x':
            length += Number(buffer + length, __builtin_va_arg(arguments, ULONG64), 16);
            break;
        case 'p': {
            ULONG64 value = __builtin_va_arg(arguments, ULONG64);
            for (int shift = 60; shift >= 0; shift -= 4)
                buffer[length++] = "0123456789abcdef"[value >> shift & 15];
            break;
        }
        default:
            buffer[length++] = *format;
        }
    }
    buffer[length] = 0;
    return length;
}
