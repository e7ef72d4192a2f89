import {
  Conflict,
  Forbidden,
  InvalidRequest,
  NotFound,
  TooManyRequests,
  Unauthorized,
  Unprocessable
} from "../errors.ts"

/** Errors with the codes and texts that apps made for Supabase compare. */

/** SQLSTATE of an account that triggers or constraints of the app refuse. */
export const refusedByApp = "SVC02"
/** The app's database refused an account. The text is Supabase's. */
export const accountRefused = (error: string) => new Conflict({ error, code: "unexpected_failure" })

export const validationFailed = (error: string) => new InvalidRequest({ error, code: "validation_failed" })
export const invalidCredentials = new InvalidRequest({
  error: "Invalid login credentials",
  code: "invalid_credentials"
})
export const emailNotConfirmed = new InvalidRequest({ error: "Email not confirmed", code: "email_not_confirmed" })
export const userBanned = new InvalidRequest({ error: "User is banned", code: "user_banned" })
export const userExists = new Unprocessable({ error: "User already registered", code: "user_already_exists" })
export const emailExists = new Unprocessable({
  error: "A user with this email address has already been registered",
  code: "email_exists"
})
export const signupDisabled = new Unprocessable({
  error: "Signups not allowed for this instance",
  code: "signup_disabled"
})
export const anonymousDisabled = new Unprocessable({
  error: "Anonymous sign-ins are disabled",
  code: "anonymous_provider_disabled"
})
export const phoneDisabled = new InvalidRequest({
  error: "Unsupported phone provider",
  code: "phone_provider_disabled"
})
export const noPhones = validationFailed("This server has no accounts with phone numbers")
export const invalidPhone = validationFailed("Invalid phone number format (E.164 required)")
export const reauthenticationUnreachable = validationFailed(
  "Reauthentication requires the user to have an email or a phone number"
)
export const appMetadataOfAdmins = new Forbidden({
  error: "Updating app_metadata requires admin privileges",
  code: "not_admin"
})
export const weakPassword = (error: string) => new Unprocessable({ error, code: "weak_password" })
export const samePassword = new Unprocessable({
  error: "New password should be different from the old password.",
  code: "same_password"
})
export const otpExpired = new Forbidden({ error: "Token has expired or is invalid", code: "otp_expired" })
export const noFlowState = new NotFound({
  error: "invalid flow state, no valid flow state found",
  code: "flow_state_not_found"
})
export const badVerifier = new InvalidRequest({
  error: "code challenge does not match previously saved code verifier",
  code: "bad_code_verifier"
})
export const noRefreshToken = new InvalidRequest({
  error: "Invalid Refresh Token: Refresh Token Not Found",
  code: "refresh_token_not_found"
})
export const usedRefreshToken = new InvalidRequest({
  error: "Invalid Refresh Token: Already Used",
  code: "refresh_token_already_used"
})
export const noBearer = new Unauthorized({
  error: "This endpoint requires a valid Bearer token",
  code: "no_authorization"
})
export const badJwt = new Forbidden({ error: "invalid JWT: unable to parse or verify signature", code: "bad_jwt" })
export const noSession = new Forbidden({
  error: "Session from session_id claim in JWT does not exist",
  code: "session_not_found"
})
export const notAdmin = new Forbidden({ error: "User not allowed", code: "not_admin" })
export const noUser = new NotFound({ error: "User not found", code: "user_not_found" })
export const invalidEmail = new InvalidRequest({
  error: "Unable to validate email address: invalid format",
  code: "email_address_invalid"
})
export const noProvider = new InvalidRequest({
  error: "Unsupported provider: provider is not enabled",
  code: "oauth_provider_not_supported"
})
/** Errors of an ID token, with Supabase's texts. */
const idToken = (error: string) => new InvalidRequest({ error, code: "validation_failed" })
export const badIdToken = idToken("Bad ID token")
export const badIdTokenAudience = idToken("Unacceptable audience in id_token")
export const idTokenNonceMissing = idToken("Passed nonce and nonce in id_token should either both exist or not.")
export const idTokenNonceMismatch = idToken("Nonces mismatch")
export const idTokenUsed = idToken("The ID token was used already: request another from the provider")
export const reauthenticationNeeded = new InvalidRequest({
  error: "Password update requires reauthentication",
  code: "reauthentication_needed"
})
export const reauthenticationInvalid = new Unprocessable({
  error: "Nonce has expired or is invalid",
  code: "reauthentication_not_valid"
})
export const singleIdentity = new Unprocessable({
  error: "User must have at least 1 identity after unlinking",
  code: "single_identity_not_deletable"
})
export const noIdentityOfUser = new Unprocessable({ error: "Identity doesn't exist", code: "identity_not_found" })
export const noFactor = new NotFound({ error: "Factor not found", code: "mfa_factor_not_found" })
export const insufficientAal = new Unprocessable({
  error: "AAL2 required to enroll, update or remove a verified factor",
  code: "insufficient_aal"
})
export const aal2Needed = new Unauthorized({
  error: "AAL2 session is required to update email or password when MFA is enabled.",
  code: "insufficient_aal"
})
export const mailsExceeded = (seconds: number) =>
  new TooManyRequests({
    error: `For security purposes, you can only request this after ${Math.max(1, seconds)} seconds.`,
    code: "over_email_send_rate_limit",
    retry_after: Math.max(1, seconds)
  })
