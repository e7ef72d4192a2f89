import { isJsonObject, type JsonObject } from "../text/JsonObject.ts"

/** Functions of the project's database that take part in sign-ins, by the names of their settings at Supabase. */
export const hookNames = ["CUSTOM_ACCESS_TOKEN", "PASSWORD_VERIFICATION_ATTEMPT", "MFA_VERIFICATION_ATTEMPT"] as const
export type HookName = (typeof hookNames)[number]

/** Hooks that Supabase has in addition, with what does their work here. */
export const otherHooks: Readonly<Record<string, string>> = {
  BEFORE_USER_CREATED: "a trigger before insert on auth.users, which can refuse it",
  AFTER_USER_CREATED: "a trigger after insert on auth.users",
  SEND_EMAIL: "SMTP_URL",
  SEND_SMS: "nothing: this service sends no messages to phones"
}

export interface HookFunction {
  readonly schema: string
  readonly name: string
}

/** The function of `pg-functions://postgres/<schema>/<function>`, as Supabase names them. */
export const hookFunctionOf = (uri: string): HookFunction | undefined => {
  const [, schema, name] = /^pg-functions:\/\/postgres\/([a-zA-Z_]\w{0,62})\/([a-zA-Z_]\w{0,62})$/.exec(uri) ?? []
  return schema === undefined || name === undefined ? undefined : { schema, name }
}

export const hookUri = ({ name, schema }: HookFunction) => `pg-functions://postgres/${schema}/${name}`

/** Claims by which this service knows the session; a hook returns them as they were. */
const own = ["iss", "sub", "aud", "iat", "session_id", "aal", "is_anonymous"]
const types: Readonly<Record<string, (value: unknown) => boolean>> = {
  email: (value) => typeof value === "string",
  phone: (value) => typeof value === "string",
  role: (value) => typeof value === "string",
  app_metadata: (value) => value === undefined || isJsonObject(value),
  user_metadata: (value) => value === undefined || isJsonObject(value),
  amr: (value) => value === undefined || Array.isArray(value)
}

/** The claims that a hook has returned, or what is wrong with them. `exp` may only be earlier than it was. */
export const claimsOfHook = (before: JsonObject, answer: unknown): JsonObject | string => {
  const after = isJsonObject(answer) ? answer["claims"] : undefined
  if (after === undefined) return "output claims field is missing"
  if (!isJsonObject(after)) return "output claims must be an object"
  const changed = own.filter((name) => JSON.stringify(after[name]) !== JSON.stringify(before[name]))
  if (changed.length > 0) return `output claims must have ${changed.join(", ")} as in the input`
  const exp = after["exp"]
  if (
    typeof exp !== "number" ||
    !Number.isInteger(exp) ||
    exp > Number(before["exp"]) ||
    exp <= Number(before["iat"])
  ) {
    return "output claims must have exp as in the input, or earlier, but after iat"
  }
  const wrong = Object.keys(types).filter((name) => types[name]?.(after[name]) === false)
  return wrong.length === 0
    ? after
    : `output claims do not conform to the expected schema: ${wrong.join(", ")} must be of the type that the input has`
}

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
    message: typeof message === "string" && message !== "" ? message.slice(0, 1000) : undefined,
    logout: logout === true
  }
}

/** A refusal in a hook's answer: `{"error": {"http_code": 403, "message": "…"}}`. */
export const hookRefusalOf = (answer: unknown): { readonly status: number; readonly message: string } | undefined => {
  const error = isJsonObject(answer) ? answer["error"] : undefined
  if (!isJsonObject(error) || typeof error["message"] !== "string" || error["message"] === "") return undefined
  const code = error["http_code"]
  const status = typeof code === "number" && Number.isInteger(code) && code >= 400 && code < 500 ? code : 500
  return { status, message: error["message"].slice(0, 1000) }
}
