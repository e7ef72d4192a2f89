/** Milliseconds of the clock shared by all processes of a machine; its origin is arbitrary. */
export const now = () => {
  const [seconds, nanos] = process.hrtime()
  return seconds * 1000 + nanos / 1e6
}
