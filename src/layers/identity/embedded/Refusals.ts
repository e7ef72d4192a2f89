import {
  Conflict,
  Forbidden,
  Gone,
  InvalidRequest,
  NotFound,
  Unauthorized,
  Unavailable
} from "../../../domain/errors.ts"
import { English } from "../../../domain/language/English.ts"

/** Errors that several parts of the embedded identity provider answer with. */

export const unauthenticated = new Unauthorized({ error: "This needs a session: sign in", code: "UNAUTHENTICATED" })
export const flowNotFound = new NotFound({ error: "There is no such flow", code: "FLOW_NOT_FOUND" })
export const flowExpired = new Gone({ error: "The flow has expired or was used: begin again", code: "FLOW_EXPIRED" })
export const flowForbidden = new Forbidden({ error: "The flow belongs to another session", code: "FLOW_FORBIDDEN" })
export const methodDisabled = new Unavailable({ error: "This method is disabled", code: "METHOD_DISABLED" })
export const wrongCode = new InvalidRequest({ error: "The code is wrong", code: "INVALID_CODE" })
export const invalidKey = new InvalidRequest({ error: "The key can't be verified", code: "INVALID_WEBAUTHN" })
export const invalidPasskey = new Unauthorized({
  error: "The passkey is unknown, or can't be verified",
  code: "INVALID_PASSKEY"
})
export const badCredentials = new Unauthorized({
  error: "The address or the password is wrong",
  code: "INVALID_CREDENTIALS"
})
export const noIdentity = new NotFound({ error: "There is no such identity", code: "IDENTITY_NOT_FOUND" })
export const addressTaken = new Conflict({ error: "There is an account with this address", code: "ADDRESS_TAKEN" })
export const idTaken = new Conflict({ error: "There is an account with this id", code: "ID_TAKEN" })
export const invalidAddress = new InvalidRequest({ error: English.address })
export const invalidPassword = (error: string) => new InvalidRequest({ error, code: "INVALID_PASSWORD" })
