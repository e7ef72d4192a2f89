import { type Identity } from "./Identity.ts"

/** "unproven": an administrator's e-mail address that this identity has not shown to be its own. */
export type AdminVerdict = "admin" | "other" | "unproven"

/**
 * Whether somebody may use the management API. `admins` has ids and e-mail addresses in lower case. An address counts
 * only when the idp has verified it: who can sign up could otherwise sign up as anybody.
 */
export const adminVerdict = (admins: ReadonlySet<string>, identity: Identity): AdminVerdict => {
  const { addresses, id, metadataPublic, state, traits } = identity
  if (state !== "active") return "other"
  if (metadataPublic["svc_role"] === "admin" || admins.has(id.toLowerCase())) return "admin"
  const meant = addresses.filter(({ value }) => admins.has(value.toLowerCase()))
  if (meant.some(({ verified }) => verified)) return "admin"
  const claimed = typeof traits["email"] === "string" && admins.has(traits["email"].toLowerCase())
  return meant.length > 0 || claimed ? "unproven" : "other"
}
