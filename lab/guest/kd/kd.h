/* The parts of the debugger's target side. */
#pragma once
#include "kernel.h"

#define PACKET_STATE_MANIPULATE 2
#define PACKET_DEBUG_IO 3
#define PACKET_ACKNOWLEDGE 4
#define PACKET_RESEND 5
#define PACKET_RESET 6
#define PACKET_STATE_CHANGE64 7

#define BREAK_IN 0x62
#define MAX_PAYLOAD 4000
#define MANIPULATE_SIZE 56

/* KdStale is what belongs to something earlier: a repeated packet, an acknowledgement of one that was repeated. */
extern UCHAR KdpBreakInPending;
typedef enum _KD_RECEIVED { KdTimeout, KdStale, KdData, KdAcknowledged, KdResend, KdReset, KdBreakIn } KD_RECEIVED;

/* The last data packet that arrived. */
extern UCHAR KdpPayload[MAX_PAYLOAD + 64];
extern USHORT KdpPayloadSize, KdpPayloadType;

KD_RECEIVED KdpReceive(ULONG spins);
int KdpSend(USHORT type, const VOID *head, ULONG head_size, const VOID *data, ULONG data_size, ULONG tries);

/* Tells a state change and answers requests until the debugger lets the machine go on or asks for another processor, whose
   number is in next then. Nobody there counts as "not handled". */
KD_CONTINUE KdpConverse(const VOID *state, ULONG size, const VOID *data, ULONG data_size, ULONG *next);

ULONG KdpWriteBreakpoint(ULONG64 address);
int KdpRestoreBreakpoint(ULONG handle);
void KdpRemoveNear(ULONG64 address);
void KdpClearBreakpoints(void);
