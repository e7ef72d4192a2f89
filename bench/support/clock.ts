/** Milliseconds on the one clock that all processes of a machine share; its zero means nothing. */
export const now = () => {
  const [seconds, nanos] = process.hrtime()
  return seconds * 1000 + nanos / 1e6
}
