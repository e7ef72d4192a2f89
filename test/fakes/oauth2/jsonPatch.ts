/** A JSON Patch (RFC 6902) of `add`, `remove` and `replace`; throws on other operations and invalid paths. */
export const applyPatch = (document: object, patch: unknown): unknown => {
  if (!Array.isArray(patch)) throw new Error("A patch must be an array")
  return patch.reduce((now: unknown, operation) => applyOperation(now, operation as Operation), document)
}

interface Operation {
  readonly op?: unknown
  readonly path?: unknown
  readonly value?: unknown
}

const applyOperation = (document: unknown, { op, path, value }: Operation) => {
  if (typeof path !== "string" || !path.startsWith("/")) throw new Error("Invalid path")
  const steps = path
    .slice(1)
    .split("/")
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"))
  if (op === "remove") return change(document, steps, undefined)
  if (op === "add" || op === "replace") return change(document, steps, { value })
  throw new Error("Unknown operation")
}

/** A copy in which the path has the value, or is removed. */
const change = (
  document: unknown,
  [step = "", ...rest]: ReadonlyArray<string>,
  to: { readonly value: unknown } | undefined
): unknown => {
  if (typeof document !== "object" || document === null || Array.isArray(document))
    throw new Error("The path is not in an object")
  // Uses entries, since a name may be `__proto__`.
  const entries = new Map(Object.entries(document))
  if (rest.length > 0) entries.set(step, change(entries.get(step) ?? {}, rest, to))
  else if (to !== undefined) entries.set(step, to.value)
  else if (!entries.delete(step)) throw new Error("The path to remove does not exist")
  return Object.fromEntries(entries)
}
