/* 16550 serial ports, polled. */
#include "kernel.h"

void SerialInitialize(USHORT port)
{
    outb(port + 1, 0);    /* no interrupts */
    outb(port + 3, 0x80); /* divisor latch */
    outb(port, 1);        /* 115200 baud */
    outb(port + 1, 0);
    outb(port + 3, 3);    /* 8 bits, no parity, 1 stop */
    outb(port + 2, 0xC7); /* FIFO on */
    outb(port + 4, 3);
}

int SerialTryRead(USHORT port) { return inb(port + 5) & 1 ? inb(port) : -1; }

int SerialRead(USHORT port, ULONG spins)
{
    while (spins--) {
        int byte = SerialTryRead(port);
        if (byte >= 0)
            return byte;
    }
    return -1;
}

void SerialWrite(USHORT port, const VOID *data, ULONG size)
{
    const UCHAR *bytes = data;
    while (size--) {
        while (!(inb(port + 5) & 0x20))
            ;
        outb(port, *bytes++);
    }
}
