/* A second driver. It gets the kernel's services as a table, so that it needs no imports. */
typedef struct _DRIVER_SERVICES {
    unsigned int (*Print)(const char *format, ...);
    void (*Break)(unsigned int status);
} DRIVER_SERVICES;

static DRIVER_SERVICES *Services;
volatile int SecondCalls;

__attribute__((noinline)) int SecondCompute(int value)
{
    int result = 0;
    for (int step = 0; step < value; step++)
        result += step * step;
    return result;
}

__attribute__((noinline)) int SecondDispatch(int request)
{
    SecondCalls++;
    return SecondCompute(request) + 1;
}

int DriverEntry(DRIVER_SERVICES *services)
{
    Services = services;
    Services->Print("second: loaded\n");
    return SecondDispatch(3);
}
