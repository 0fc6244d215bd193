/* A driver that can do wrong. It gets the kernel's services as a table, so that it needs no imports. */
typedef struct _DRIVER_SERVICES {
    unsigned int (*Print)(const char *format, ...);
    void (*Break)(unsigned int status);
} DRIVER_SERVICES;

static DRIVER_SERVICES *Services;
volatile int FaultyCalls;

__attribute__((noinline)) int FaultyCompute(int value)
{
    int result = 0;
    for (int step = 0; step < value; step++)
        result += step * step;
    return result;
}

__attribute__((noinline)) int FaultyDispatch(int request)
{
    FaultyCalls++;
    return FaultyCompute(request) + 1;
}

int DriverEntry(DRIVER_SERVICES *services)
{
    Services = services;
    Services->Print("faulty: loaded\n");
    return FaultyDispatch(3);
}
