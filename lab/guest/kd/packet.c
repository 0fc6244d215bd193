/* Framing: ids, acknowledgements, repeats, resets. The other end is a debugger on COM1. */
#include "kd.h"

#define DATA_LEADER 0x30303030
#define CONTROL_LEADER 0x69696969
#define TRAILER 0xAA
#define INITIAL_ID 0x80800000
#define SYNC 0x800
#define BYTE_WAIT 200000
#define ANSWER_WAIT 3000000

typedef struct _PACKET {
    ULONG Leader;
    USHORT Type, Size;
    ULONG Id, Checksum;
} PACKET;

UCHAR KdpBreakInPending; /* what came while we were busy with the debugger is attended to later */
UCHAR KdpPayload[MAX_PAYLOAD + 64];
USHORT KdpPayloadSize, KdpPayloadType;
static ULONG NextId = INITIAL_ID | SYNC, ExpectedId = INITIAL_ID;

static void SendControl(USHORT type, ULONG id)
{
    PACKET packet = {CONTROL_LEADER, type, 0, id, 0};
    SerialWrite(COM1, &packet, sizeof packet);
}

static ULONG Checksum(const UCHAR *bytes, ULONG size)
{
    ULONG sum = 0;
    while (size--)
        sum += *bytes++;
    return sum;
}

/* Waits for four equal leader bytes; a break-in byte on the way is told of. */
static KD_RECEIVED FindLeader(ULONG spins, ULONG *leader)
{
    ULONG run = 0;
    int last = -1;
    for (;;) {
        int byte = SerialRead(COM1, run ? BYTE_WAIT : spins);
        if (byte < 0)
            return KdTimeout;
        if (byte != 0x30 && byte != 0x69) {
            if (byte == BREAK_IN && !run) {
                KdpBreakInPending = 1;
                return KdBreakIn;
            }
            run = 0;
            last = -1;
            continue;
        }
        run = byte == last ? run + 1 : 1;
        last = byte;
        if (run == 4)
            break;
    }
    *leader = last == 0x30 ? DATA_LEADER : CONTROL_LEADER;
    return KdData;
}

static int ReadBytes(UCHAR *bytes, ULONG size)
{
    while (size--) {
        int byte = SerialRead(COM1, BYTE_WAIT);
        if (byte < 0)
            return 0;
        *bytes++ = (UCHAR)byte;
    }
    return 1;
}

static KD_RECEIVED Control(const PACKET *packet)
{
    switch (packet->Type) {
    case PACKET_ACKNOWLEDGE:
        return (packet->Id & ~SYNC) == (NextId & ~SYNC) ? KdAcknowledged : KdStale;
    case PACKET_RESEND:
        return KdResend;
    case PACKET_RESET:
        NextId = INITIAL_ID | SYNC;
        ExpectedId = INITIAL_ID;
        SendControl(PACKET_RESET, 0);
        return KdReset;
    default:
        return KdTimeout;
    }
}

KD_RECEIVED KdpReceive(ULONG spins)
{
    PACKET packet;
    UCHAR trailer;
    KD_RECEIVED found = FindLeader(spins, &packet.Leader);
    if (found != KdData)
        return found;
    if (!ReadBytes((UCHAR *)&packet + 4, sizeof packet - 4))
        return KdTimeout;
    if (packet.Leader == CONTROL_LEADER)
        return Control(&packet);
    if (packet.Size > MAX_PAYLOAD || !ReadBytes(KdpPayload, packet.Size) || !ReadBytes(&trailer, 1) || trailer != TRAILER ||
        Checksum(KdpPayload, packet.Size) != packet.Checksum) {
        SendControl(PACKET_RESEND, 0);
        return KdTimeout;
    }
    SendControl(PACKET_ACKNOWLEDGE, packet.Id & ~SYNC);
    if ((packet.Id & ~SYNC) != ExpectedId)
        return KdStale; /* sent again because our acknowledgement was lost */
    ExpectedId ^= 1;
    KdpPayloadType = packet.Type;
    KdpPayloadSize = packet.Size;
    return KdData;
}

int KdpSend(USHORT type, const VOID *head, ULONG head_size, const VOID *data, ULONG data_size, ULONG tries)
{
    UCHAR trailer = TRAILER;
    ULONG sum = Checksum(head, head_size) + Checksum(data, data_size);
    while (tries--) {
        PACKET packet = {DATA_LEADER, type, (USHORT)(head_size + data_size), NextId, sum};
        KD_RECEIVED answer;
        SerialWrite(COM1, &packet, sizeof packet);
        SerialWrite(COM1, head, head_size);
        SerialWrite(COM1, data, data_size);
        SerialWrite(COM1, &trailer, 1);
        do {
            answer = KdpReceive(ANSWER_WAIT);
            if (answer == KdAcknowledged) {
                NextId = (NextId & ~SYNC) ^ 1;
                KdDebuggerNotPresent = 0;
                return 1;
            }
        } while (answer == KdBreakIn || answer == KdStale);
        if (answer == KdReset)
            tries++;
    }
    /* Nobody listens: whoever comes later begins anew. */
    NextId = INITIAL_ID | SYNC;
    ExpectedId = INITIAL_ID;
    KdDebuggerNotPresent = 1;
    return 0;
}
