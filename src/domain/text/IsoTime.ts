/** Another server's timestamp as ISO 8601 in UTC with milliseconds; any other text unchanged. */
export const isoTime = <A extends string | null>(text: A): A | string => {
  const millis = text === null ? Number.NaN : Date.parse(text)
  return Number.isNaN(millis) ? text : new Date(millis).toISOString()
}
