/**
 * Parses JSON without changing numbers: one that JavaScript would write differently (9007199254740993, 218.90) stays the
 * text that PostgreSQL wrote, as a string.
 */
export const parseExact = (text: string): unknown => {
  const revive = (_key: string, value: unknown, context?: { readonly source?: string }) =>
    typeof value === "number" && context?.source !== undefined && String(value) !== context.source
      ? context.source
      : value
  return JSON.parse(text, revive as (key: string, value: unknown) => unknown)
}

const rawJson = (JSON as unknown as { readonly rawJSON?: (text: string) => unknown }).rawJSON

/** Parses JSON that is only shown again: `JSON.stringify` of it has every number as it was written. */
export const parseFaithful = (text: string): unknown => {
  const revive = (_key: string, value: unknown, context?: { readonly source?: string }) =>
    typeof value === "number" && context?.source !== undefined && String(value) !== context.source
      ? (rawJson?.(context.source) ?? context.source)
      : value
  return JSON.parse(text, revive as (key: string, value: unknown) => unknown)
}
