import { type JsonObject } from "../../../../domain/text/JsonObject.ts"

/** An account that does not exist yet, in the form in which Supabase's clients and hooks get users. */
export const newUser = (given: {
  readonly id: string
  /** Undefined: the user is anonymous. */
  readonly email: string | undefined
  readonly data: JsonObject
  readonly provider: string
  /** ISO 8601 */
  readonly now: string
}) => ({
  id: given.id,
  aud: "authenticated",
  role: "authenticated",
  email: given.email ?? "",
  phone: "",
  app_metadata: given.email === undefined ? {} : { provider: given.provider, providers: [given.provider] },
  user_metadata: given.data,
  identities: [],
  factors: [],
  created_at: given.now,
  updated_at: given.now,
  is_anonymous: given.email === undefined
})
