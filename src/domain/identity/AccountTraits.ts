import { type Identity } from "./Identity.ts"

/** The name a person knows their account by: an e-mail address, else the id. */
export const accountOf = ({ addresses, id, traits }: Identity): string => {
  const email = traits["email"]
  return (typeof email === "string" && email !== "" ? email : addresses[0]?.value) ?? id
}
