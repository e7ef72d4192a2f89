import { Result } from "effect"
import { type StoredFunction } from "../../catalogue/Catalogue.ts"
import { DatabaseError, NotFound } from "../../errors.ts"
import { listed } from "../../text/Shorten.ts"
import { similarNames } from "../../text/SimilarNames.ts"

/** The functions of a name, and the other names in the schema, for hints. */
export interface Candidates {
  readonly schema: string
  readonly name: string
  readonly overloads: ReadonlyArray<StoredFunction>
  readonly functionNames: () => ReadonlyArray<string>
}

/** Media types of bodies that a single argument takes whole. */
export type RawMedia = "text/plain" | "text/xml" | "application/octet-stream"

/** The type of that argument. */
export const rawKinds = {
  "text/plain": "text",
  "text/xml": "xml",
  "application/octet-stream": "bytea"
} as const

/** Whether the only argument has no name: a key of no characters gives it, as the generated types say. */
const isUnnamed = ({ arguments: all }: StoredFunction) => all.length === 1 && all[0]?.name === ""

const takes = ({ body }: StoredFunction, media: RawMedia | "application/json") =>
  media === "application/json" ? body === "json" || body === "jsonb" : body === rawKinds[media]

/**
 * Chooses an overload by argument names: all given arguments must exist, and all required ones must be given. If none
 * matches, one that takes the whole body is chosen. `media`: type of a POST's body; undefined for a form and a GET.
 */
export const chooseFunction = (
  candidates: Candidates,
  names: ReadonlyArray<string>,
  media: RawMedia | "application/json" | undefined
): Result.Result<StoredFunction, NotFound | DatabaseError> => {
  const { overloads } = candidates
  const given = new Set(names)
  const raw = media !== undefined && media !== "application/json"
  const fits = (fn: StoredFunction) =>
    !(raw && fn.arguments.length === 0) &&
    names.every((name) => (name !== "" || isUnnamed(fn)) && fn.arguments.some((argument) => argument.name === name)) &&
    fn.arguments.every((argument) => argument.optional || given.has(argument.name))
  const fitting = overloads.filter(fits)
  const found = fitting.length > 0 || media === undefined ? fitting : overloads.filter((fn) => takes(fn, media))
  const [fn] = found
  if (fn === undefined) return Result.fail(notFound(candidates, names, media))
  return found.length > 1 ? Result.fail(ambiguous(found)) : Result.succeed(fn)
}

const notFound = (
  { schema, name, overloads, functionNames }: Candidates,
  given: ReadonlyArray<string>,
  media: RawMedia | "application/json" | undefined
) => {
  const names = [...given].sort()
  const shown = listed(names)
  const called = `${schema}.${name}`
  const raw = media === undefined || media === "application/json" ? undefined : rawKinds[media]
  const none = names.length === 0 ? " without parameters" : undefined
  const searched =
    raw === undefined
      ? `${none ?? ` with parameter${names.length > 1 ? "s" : ""} ${shown}`}${media === undefined ? "" : " or with a single unnamed json/jsonb parameter"}`
      : ` with a single unnamed ${raw} parameter`
  return new NotFound({
    error: `Could not find the function ${called}${raw === undefined ? (none ?? `(${shown})`) : ""} in the schema cache`,
    code: "PGRST202",
    details: `Searched for the function ${called}${searched}, but no matches were found in the schema cache.`,
    hint: raw === undefined ? perhaps(schema, name, names, overloads, functionNames) : null
  })
}

/** Suggests another function, or other arguments of this one. */
const perhaps = (
  schema: string,
  name: string,
  given: ReadonlyArray<string>,
  overloads: ReadonlyArray<StoredFunction>,
  functionNames: () => ReadonlyArray<string>
) => {
  const signature = (names: ReadonlyArray<string>) => `(${listed([...names].sort())})`
  const [other] =
    overloads.length === 0
      ? similarNames(functionNames(), name, 0.75)
      : similarNames(
          overloads.map((one) => signature(one.arguments.map((argument) => argument.name))),
          signature(given)
        )
  if (other === undefined) return null
  return `Perhaps you meant to call the function ${schema}.${overloads.length === 0 ? "" : name}${other.name}`
}

/** Orders by number of arguments, then by their names and types. */
const byArguments = (a: StoredFunction, b: StoredFunction) => {
  const key = (fn: StoredFunction) => fn.arguments.map(({ name, type }) => `${name}\0${type}`).join("\0")
  return a.arguments.length - b.arguments.length || (key(a) < key(b) ? -1 : 1)
}

const ambiguous = (fitting: ReadonlyArray<StoredFunction>) =>
  new DatabaseError({
    status: 300,
    error: `Could not choose the best candidate function between: ${listed(
      [...fitting]
        .sort(byArguments)
        .map((one) => `${one.schema}.${one.name}(${listed(one.arguments.map((a) => `${a.name} => ${a.type}`))})`)
    )}`,
    code: "PGRST203",
    hint: "Try renaming the parameters or the function itself in the database so function overloading can be resolved"
  })
