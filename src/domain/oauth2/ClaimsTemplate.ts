import { type Identity } from "../identity/Identity.ts"
import { isJsonObject, type JsonObject } from "../text/JsonObject.ts"
import { isPlainText } from "../text/StorableText.ts"

/** Claim name to template, as an administrator writes it (spec: Claims config). */
export type ClaimTemplates = Readonly<Record<string, string>>

/** The values that templates can refer to. */
export type ClaimSource = Pick<Identity, "id" | "traits" | "metadata_public">

const maxNameLength = 100
const maxTemplateLength = 1000
const maxClaims = 100

/**
 * Claims with a meaning of their own: those of RFC 7519 and OpenID Connect Core that the server sets itself; `nbf` and
 * `azp`, which the server would accept but clients would misinterpret; and `scope`, `scp` and `client_id`, which
 * distinguish access tokens.
 */
const reserved = new Set(
  "iss sub aud exp iat nbf jti rat auth_time nonce at_hash c_hash acr amr azp sid scope scp client_id ext".split(" ")
)

type Part = string | ReadonlyArray<string>

const placeholder = /\{\{([^{}]*)\}\}/g
const segment = /^[\p{L}\p{N}_$@:-]+$/u

/** Splits `traits.name.first` into its steps; undefined when it refers to none of the three sources. */
const pathOf = (text: string): ReadonlyArray<string> | undefined => {
  const steps = text.trim().split(".")
  if (!steps.every((step) => segment.test(step) && step !== "__proto__")) return undefined
  if (steps[0] === "id") return steps.length === 1 ? steps : undefined
  return (steps[0] === "traits" || steps[0] === "metadata_public") && steps.length > 1 ? steps : undefined
}

/** The texts and paths of a template, or a description of its fault. */
const partsOf = (template: string): { readonly parts: ReadonlyArray<Part> } | { readonly problem: string } => {
  const parts: Array<Part> = []
  let end = 0
  for (const match of template.matchAll(placeholder)) {
    const path = pathOf(match[1] ?? "")
    if (path === undefined) {
      return { problem: `${match[0]} must be {{id}}, {{traits.<name>}} or {{metadata_public.<name>}}` }
    }
    if (match.index > end) parts.push(template.slice(end, match.index))
    parts.push(path)
    end = match.index + match[0].length
  }
  if (end < template.length) parts.push(template.slice(end))
  return parts.some((part) => typeof part === "string" && /\{\{|\}\}/.test(part))
    ? { problem: "unmatched braces" }
    : { parts }
}

/** A line for each problem with the templates; `label` names the object in them. */
export const templateProblems = (templates: JsonObject, label: string): ReadonlyArray<string> => {
  const all = Object.entries(templates)
  const problems = all.length > maxClaims ? [`${label}: at most ${maxClaims} claims are allowed`] : []
  for (const [name, template] of all.slice(0, maxClaims)) {
    const problem = nameProblem(name) ?? templateProblem(template)
    if (problem !== undefined) problems.push(`${label}.${name.slice(0, maxNameLength)}: ${problem}`)
  }
  return problems
}

const nameProblem = (name: string) => {
  if (name.length === 0 || name.length > maxNameLength) return `a name must have 1 to ${maxNameLength} characters`
  if (!isPlainText(name)) return "a name must not contain control characters"
  if (name === "__proto__") return "not a valid claim name"
  return reserved.has(name) ? "the OAuth 2.0 server sets this claim itself" : undefined
}

const templateProblem = (template: unknown) => {
  if (typeof template !== "string") return "a template must be a string"
  if (template.length > maxTemplateLength) return `a template must have at most ${maxTemplateLength} characters`
  if (template.includes("\0") || !template.isWellFormed())
    return "a template must not contain NUL or unpaired surrogates"
  const parsed = partsOf(template)
  return "problem" in parsed ? parsed.problem : undefined
}

/** undefined when the value is missing or null. */
const valueAt = (source: ClaimSource, path: ReadonlyArray<string>): unknown => {
  let value: unknown = { id: source.id, traits: source.traits, metadata_public: source.metadata_public }
  for (const step of path) {
    if (Array.isArray(value) && /^\d{1,6}$/.test(step)) value = value[Number(step)]
    else if (isJsonObject(value) && Object.hasOwn(value, step)) value = value[step]
    else return undefined
  }
  return value ?? undefined
}

const textOf = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value))

/**
 * The claims of one identity. A template that is a single placeholder keeps the value's type; a claim whose placeholder
 * has no value is left out.
 */
export const resolveClaims = (templates: ClaimTemplates, source: ClaimSource): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    Object.entries(templates).flatMap(([name, template]) => {
      const value = resolved(template, source)
      return value === undefined ? [] : [[name, value] as const]
    })
  )

const resolved = (template: string, source: ClaimSource): unknown => {
  const parsed = partsOf(template)
  if ("problem" in parsed) return undefined
  const [only, ...others] = parsed.parts.map((part) => (typeof part === "string" ? part : valueAt(source, part)))
  if (parsed.parts.length === 0) return ""
  if (others.length === 0) return only
  const values = [only, ...others]
  return values.includes(undefined) ? undefined : values.map(textOf).join("")
}
