/** Codes of accounts and sign-in; see RequestCodes.ts. */
export const accountCodes = {
  INVALID_CODE: [400, "The one-time code is wrong: check the authenticator and the device's clock"],
  INVALID_PASSWORD: [400, "The new password is too short, too long, or one that attackers try first"],
  PASSWORD_REQUIRED: [
    400,
    "The link of a registration came without the chosen password: send `password`, or the code of the message"
  ],
  INVALID_PASSWORD_HASH: [
    400,
    "The hash is neither argon2 nor bcrypt, or too expensive to verify: let these people recover their accounts"
  ],
  INVALID_WEBAUTHN: [
    400,
    "The security key's response has a wrong challenge or origin, or is damaged: start again with `POST /api/auth/mfa/webauthn/setup`"
  ],
  CURRENT_SESSION: [400, "The request's own session can't be revoked this way: `POST /api/auth/logout`"],
  PROVIDER_ANSWER_INVALID: [
    400,
    "The browser came back from another service with neither an error nor a code that this service knows: begin the sign-in again"
  ],
  UNAUTHENTICATED: [401, "No session, or an expired one: sign in at the identity provider, or to the dashboard"],
  INVALID_CREDENTIALS: [401, "Address or password are wrong, or the account is disabled"],
  INVALID_PASSKEY: [401, "The passkey is unknown, or its response could not be verified"],
  aal2_required: [403, "The session needs a second factor: redirect the browser to `redirect_to`"],
  reauthentication_required: [
    403,
    "The sign-in is too old for this operation: redirect the browser to `redirect_to`, which signs in again"
  ],
  FLOW_FORBIDDEN: [
    403,
    "The flow belongs to another session: start a new one; confirm a change of address in the session that requested it"
  ],
  PROVIDER_DENIED: [403, "The person cancelled the sign-in at the other service, or it refused"],
  PROVIDER_SIGN_IN_NOT_RECENT: [
    403,
    "The other service did not repeat a sign-in, as the `auth_time` of its ID token shows: sign out, and in again"
  ],
  PROVIDER_ADDRESS_MISSING: [403, "The other service reports no e-mail address: register here, and link the account"],
  PROVIDER_ADDRESS_UNVERIFIED: [
    403,
    "The other service has not verified the e-mail address: register here, and link the account"
  ],
  REGISTRATION_CLOSED: [403, "The person has no account, and `SVC_AUTH_REGISTRATION` is false: ask the operator"],
  ACCOUNT_DISABLED: [403, "The account is disabled: ask the operator"],
  IDENTITY_NOT_FOUND: [404, "The identity provider has no such identity"],
  SESSION_NOT_FOUND: [404, "No other session with this id; see `GET /api/auth/sessions`"],
  PASSKEY_NOT_FOUND: [404, "No such passkey; see `GET /api/auth/passkeys`"],
  WEBAUTHN_NOT_FOUND: [404, "No security key with this id; see `GET /api/auth/mfa/status`"],
  PROVIDER_NOT_FOUND: [404, "`SVC_SIGN_IN_WITH` has no such provider; see `GET /api/auth/methods`"],
  LINK_NOT_FOUND: [404, "No account of this provider is linked; see `GET /api/auth/links`"],
  FLOW_NOT_FOUND: [404, "No flow with this id: start a new one"],
  IDENTITY_CHANGED: [409, "The account was changed since `updated_at` of the request: read it again"],
  ADDRESS_UNCONFIRMED: [
    409,
    "An administrator needs a confirmed address, as another person may have registered it: let its owner confirm it, or run `svc account admin <address>`, which removes what was set before"
  ],
  ADDRESS_TAKEN: [409, "There is an account with this e-mail address: sign in, or recover it"],
  ID_TAKEN: [409, "There is an account with this id (imports): leave it out, or import into an empty service"],
  TOO_MANY_KEYS: [409, "The account has 50 keys: remove one"],
  TOTP_EXISTS: [409, "An authenticator app is already set up: remove it first"],
  WEBAUTHN_EXISTS: [409, "The security key is already registered"],
  LINK_NEEDS_SIGN_IN: [
    409,
    "An account with the other service's address exists, and an address is not verified: sign in to it, and link there"
  ],
  LINK_TAKEN: [409, "The account at the other service is linked to another account: unlink that first"],
  LINK_EXISTS: [409, "Another account of the other service is linked: unlink that first"],
  LAST_SIGN_IN_METHOD: [409, "The only remaining sign-in method: add another first"],
  RECOVERY_CODES_NOT_GENERATED: [409, "The flow has no codes to confirm: `POST /api/auth/mfa/recovery-codes/generate`"],
  FLOW_EXPIRED: [410, "The flow has expired or is completed: start a new one"],
  TOO_MANY_GUESSES: [
    429,
    "More than ten codes, failed sign-ins or recoveries in a minute, or three recoveries of one address: wait `Retry-After` seconds"
  ],
  USE_IDP: [501, "Accounts are kept by the identity provider of `IDP_PUBLIC_URL`: use its API, which the error names"],
  PROVIDER_FAILED: [
    502,
    "A service at which people sign in does not respond, or incorrectly; the log says why. Try again; check `SVC_SIGN_IN_…`"
  ],
  IDP_UNAVAILABLE: [
    502,
    "The identity provider does not respond, or incorrectly: check it, `IDP_PUBLIC_URL` and `IDP_ADMIN_URL`"
  ],
  METHOD_DISABLED: [503, "The method is disabled in the identity provider; registration by `SVC_AUTH_REGISTRATION`"],
  SIGN_IN_BUSY: [503, "Too many passwords are being verified: wait `Retry-After` seconds"],
  IDP_TIMEOUT: [504, "The identity provider did not respond in time"]
} as const

/** Codes of OAuth 2.0. */
export const oauth2Codes = {
  INVALID_CLIENT: [400, "The OAuth 2.0 server rejected the client; the message says why"],
  CLIENT_WITHOUT_SECRET: [400, "A public client has no secret to rotate"],
  CHALLENGE_FORBIDDEN: [403, "The session is not of the challenge's subject: sign out first"],
  CHALLENGE_NOT_FOUND: [404, "The challenge is unknown to the OAuth 2.0 server: start again at the app"],
  CLIENT_NOT_FOUND: [404, "No OAuth 2.0 client with this id; see `GET /api/oauth2/clients`"],
  CLIENT_EXISTS: [409, "An OAuth 2.0 client with this id already exists"],
  CHALLENGE_EXPIRED: [
    410,
    "The login, consent or logout challenge has expired or was used: start again at the app, or at `redirect_to`, if present"
  ],
  OAUTH2_UNAVAILABLE: [502, "The OAuth 2.0 server does not respond, or incorrectly: check it and `OAUTH2_ADMIN_URL`"],
  OAUTH2_CREDENTIALS_REFUSED: [
    502,
    "The OAuth 2.0 server's admin API rejected the service: check `OAUTH2_ADMIN_TOKEN`"
  ],
  OAUTH2_TIMEOUT: [504, "The OAuth 2.0 server did not respond in time"]
} as const
