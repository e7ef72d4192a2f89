import { Effect } from "effect"
import {
  Conflict,
  Forbidden,
  Gone,
  InvalidRequest,
  NotFound,
  Unauthorized,
  Unavailable
} from "../../../domain/errors.ts"
import { wordsOf } from "../../../domain/language/Language.ts"

/** Errors that several parts of the embedded identity provider answer with. */

export const unauthenticated = new Unauthorized({ error: "This needs a session: sign in", code: "UNAUTHENTICATED" })
export const flowNotFound = new NotFound({ error: "There is no such flow", code: "FLOW_NOT_FOUND" })
export const flowExpired = new Gone({ error: "The flow has expired or was used: begin again", code: "FLOW_EXPIRED" })
export const flowForbidden = new Forbidden({ error: "The flow belongs to another session", code: "FLOW_FORBIDDEN" })
export const changeNeedsSession = new Forbidden({
  error: "A change of address is confirmed in the session that requested it: sign in there, and enter the code",
  code: "FLOW_FORBIDDEN"
})
export const passwordNeeded = new InvalidRequest({
  error: "The link of a registration needs the password that was chosen: send it as password",
  code: "PASSWORD_REQUIRED"
})
export const wrongPassword = new InvalidRequest({
  error: "The password is not the one that was chosen at the registration",
  code: "INVALID_CREDENTIALS"
})
export const methodDisabled = new Unavailable({ error: "This method is disabled", code: "METHOD_DISABLED" })
export const wrongCode = new InvalidRequest({ error: "The code is wrong", code: "INVALID_CODE" })
export const invalidSecurityKey = new InvalidRequest({ error: "The key can't be verified", code: "INVALID_WEBAUTHN" })
export const invalidPasskey = new Unauthorized({
  error: "The passkey is unknown, or can't be verified",
  code: "INVALID_PASSKEY"
})
export const badCredentials = new Unauthorized({
  error: "The address or the password is wrong",
  code: "INVALID_CREDENTIALS"
})
export const noIdentity = new NotFound({ error: "There is no such identity", code: "IDENTITY_NOT_FOUND" })
export const unconfirmedAddress = new Conflict({
  error:
    "The address of the account is not confirmed: another person may have registered it, and would become an administrator",
  code: "ADDRESS_UNCONFIRMED",
  hint: "Its owner confirms it first; or svc account admin <address> removes its password, factors, links and sessions"
})
export const invalidPageToken = new InvalidRequest({ error: "page_token is invalid", code: "INVALID_PAGE_TOKEN" })
export const identityChanged = new Conflict({
  error: "The account was changed since it was read",
  code: "IDENTITY_CHANGED",
  hint: "Read it again, and send updated_at as it is now"
})
export const addressTaken = new Conflict({ error: "There is an account with this address", code: "ADDRESS_TAKEN" })
export const idTaken = new Conflict({ error: "There is an account with this id", code: "ID_TAKEN" })
export const invalidAddress = new InvalidRequest({ error: wordsOf("en").address })
export const invalidPassword = (error: string) => new InvalidRequest({ error, code: "INVALID_PASSWORD" })

export const providerNotFound = new NotFound({ error: "There is no such provider", code: "PROVIDER_NOT_FOUND" })
export const noLink = new NotFound({ error: "There is no account of this provider to unlink", code: "LINK_NOT_FOUND" })
const providerDenied = new Forbidden({
  error: "The sign-in was cancelled at the provider",
  code: "PROVIDER_DENIED"
})
export const noProviderCode = new InvalidRequest({
  error: "The provider's answer has no valid code: begin the sign-in again",
  code: "PROVIDER_ANSWER_INVALID"
})
/** Refuses a provider's answer if the person declined, or if it has not exactly one code or one error. */
export const refuseAnswer = (query: URLSearchParams) => {
  const given = [...query.getAll("code"), ...query.getAll("error")]
  if (given.length !== 1 || given[0] === "" || query.getAll("state").length !== 1) return Effect.fail(noProviderCode)
  return query.get("error") === "access_denied" ? Effect.fail(providerDenied) : Effect.void
}

export const noProvidedAddress = new Forbidden({
  error: "The provider did not report an e-mail address: register here, and link the account then",
  code: "PROVIDER_ADDRESS_MISSING"
})
export const unverifiedAddress = new Forbidden({
  error: "The provider has not verified the e-mail address: register here, and link the account then",
  code: "PROVIDER_ADDRESS_UNVERIFIED"
})
export const signInFirst = new Conflict({
  error: "There is an account with this address: sign in to it, and link the provider there",
  code: "LINK_NEEDS_SIGN_IN"
})
export const registrationClosed = new Forbidden({
  error: "Registration is closed (SVC_AUTH_REGISTRATION)",
  code: "REGISTRATION_CLOSED"
})
export const accountDisabled = new Forbidden({ error: "The account is disabled", code: "ACCOUNT_DISABLED" })
export const linkTaken = new Conflict({
  error: "This account of the provider is linked to another account here",
  code: "LINK_TAKEN"
})
export const linkExists = new Conflict({
  error: "Another account of the provider is linked already: unlink it first",
  code: "LINK_EXISTS"
})
export const lastSignInMethod = new Conflict({
  error: "This is the only way to sign in: set a password or add a passkey first",
  code: "LAST_SIGN_IN_METHOD"
})
