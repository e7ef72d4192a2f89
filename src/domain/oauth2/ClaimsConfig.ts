import { type ClaimTemplates } from "./ClaimsTemplate.ts"

/** What tokens say of a person beside what the server puts there itself (spec: Claims config). */
export interface ClaimsConfig {
  readonly id_token_claims: ClaimTemplates
  readonly access_token_claims: ClaimTemplates
}
