import { isJsonObject, type JsonObject } from "../../text/JsonObject.ts"

/** Claims that a hook may change; all others of the input stay as they were. */
const changeable: Readonly<Record<string, (value: unknown) => boolean>> = {
  email: (value) => value === undefined || typeof value === "string",
  email_verified: (value) => value === undefined || typeof value === "boolean",
  phone: (value) => value === undefined || typeof value === "string",
  role: (value) => typeof value === "string",
  app_metadata: (value) => value === undefined || isJsonObject(value),
  user_metadata: (value) => value === undefined || isJsonObject(value),
  amr: (value) => value === undefined || Array.isArray(value)
}

/** Registered claims that change what a token means to verifiers, so that a hook may not add them either. */
const registered = ["act", "auth_time", "azp", "client_id", "cnf", "jti", "may_act", "nbf", "nonce", "scope", "sid"]

/**
 * The claims that a hook has returned, or what is wrong with them. `exp` may only be earlier than it was. Those that must stay
 * are those of the input, less a list of what may change: a claim that the service adds later is protected too.
 */
export const claimsOfHook = (before: JsonObject, answer: unknown): JsonObject | string => {
  const after = isJsonObject(answer) ? answer["claims"] : undefined
  if (after === undefined) return "output claims field is missing"
  if (!isJsonObject(after)) return "output claims must be an object"
  const fixed = [...Object.keys(before), ...registered].filter((name) => name !== "exp" && !(name in changeable))
  const changed = fixed.filter((name) => JSON.stringify(after[name]) !== JSON.stringify(before[name]))
  if (changed.length > 0) return `output claims must have ${[...new Set(changed)].join(", ")} as in the input`
  const exp = after["exp"]
  if (
    typeof exp !== "number" ||
    !Number.isInteger(exp) ||
    exp > Number(before["exp"]) ||
    exp <= Number(before["iat"])
  ) {
    return "output claims must have exp as in the input, or earlier, but after iat"
  }
  const wrong = Object.keys(changeable).filter((name) => changeable[name]?.(after[name]) === false)
  return wrong.length === 0
    ? after
    : `output claims do not conform to the expected schema: ${wrong.join(", ")} must be of the type that the input has`
}

/** The longest text of a hook that is passed on. */
const maxText = 1000

/** What a hook says about an attempt to sign in. */
export interface HookDecision {
  readonly reject: boolean
  readonly message: string | undefined
  readonly logout: boolean
}

export const decisionOf = (answer: unknown): HookDecision | undefined => {
  if (!isJsonObject(answer)) return undefined
  const { decision, message, should_logout_user: logout } = answer
  if (decision !== "continue" && decision !== "reject") return undefined
  return {
    reject: decision === "reject",
    message: typeof message === "string" && message !== "" ? message.slice(0, maxText) : undefined,
    logout: logout === true
  }
}

/**
 * The answer of a hook that only agrees or refuses. Anything that is not understood as an agreement is none: an object
 * without `error` and without another `decision`, or nothing.
 */
export const agreementOf = (answer: unknown): HookDecision | undefined => {
  if (answer === null) return { reject: false, message: undefined, logout: false }
  if (!isJsonObject(answer)) return undefined
  return "decision" in answer ? decisionOf(answer) : { reject: false, message: undefined, logout: false }
}

/**
 * A refusal in a hook's answer: `{"error": {"http_code": 403, "message": "…"}}`; "invalid": an `error` of another form, which
 * must not pass as an agreement.
 */
export const hookRefusalOf = (
  answer: unknown
): { readonly status: number; readonly message: string } | "invalid" | undefined => {
  const error = isJsonObject(answer) ? answer["error"] : undefined
  if (error === undefined || error === null) return undefined
  if (!isJsonObject(error) || typeof error["message"] !== "string" || error["message"] === "") return "invalid"
  const code = error["http_code"]
  const status = typeof code === "number" && Number.isInteger(code) && code >= 400 && code < 500 ? code : 500
  return { status, message: error["message"].slice(0, maxText) }
}
