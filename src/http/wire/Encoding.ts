/**
 * The encoding of `offered` that an Accept-Encoding header prefers (RFC 9110 12.5.3), the earlier one of equals; undefined: the
 * body is sent as it is.
 */
export const preferredEncoding = <Name extends string>(
  header: string | undefined,
  offered: ReadonlyArray<Name>
): Name | undefined => {
  if (header === undefined) return undefined
  const weights = new Map<string, number>()
  for (const part of header.toLowerCase().split(",")) {
    const [name = "", ...parameters] = part.split(";").map((text) => text.trim())
    const weight = parameters.find((parameter) => parameter.startsWith("q="))
    weights.set(name, weight === undefined ? 1 : Number(weight.slice(2)) || 0)
  }
  const weightOf = (name: string) => weights.get(name) ?? weights.get("*") ?? 0
  const [best] = offered.toSorted((one, other) => weightOf(other) - weightOf(one))
  return best !== undefined && weightOf(best) > 0 ? best : undefined
}
