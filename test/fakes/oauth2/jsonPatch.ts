/** A JSON Patch (RFC 6902) of `add` and `remove`; throws on other operations. */
export const applyPatch = (document: object, patch: ReadonlyArray<Operation>): unknown =>
  patch.reduce<unknown>(applyOperation, document)

interface Operation {
  readonly op: string
  readonly path: string
  readonly value?: unknown
}

const applyOperation = (document: unknown, { op, path, value }: Operation) => {
  const steps = path
    .slice(1)
    .split("/")
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"))
  if (op === "remove") return change(document, steps, undefined)
  if (op === "add") return change(document, steps, { value })
  throw new Error("Unknown operation")
}

/** A copy in which the path has the value, or is removed. */
const change = (
  document: unknown,
  [step = "", ...rest]: ReadonlyArray<string>,
  to: { readonly value: unknown } | undefined
): unknown => {
  // Uses entries, since a name may be `__proto__`.
  const entries = new Map<string, unknown>(Object.entries(document as object))
  if (rest.length > 0) entries.set(step, change(entries.get(step) ?? {}, rest, to))
  else if (to !== undefined) entries.set(step, to.value)
  else if (!entries.delete(step)) throw new Error("The path to remove does not exist")
  return Object.fromEntries(entries)
}
