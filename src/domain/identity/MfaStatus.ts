import { Schema } from "effect"

/** What second factors somebody has (spec: MFA status). */
export const MfaStatus = Schema.Struct({
  totp: Schema.Boolean,
  webauthn: Schema.Boolean,
  webauthn_credentials: Schema.Array(
    Schema.Struct({ id: Schema.String, display_name: Schema.String, added_at: Schema.NullOr(Schema.String) })
  ),
  lookup_secret: Schema.Boolean,
  lookup_secrets_count: Schema.Int,
  lookup_secrets_used: Schema.Int
})
export type MfaStatus = typeof MfaStatus.Type
