import { statements } from "./statements.ts"

/** The scopes that claims of tokens require, by claim name. */
export const claimScopes = statements(
  `alter table svc.oauth2_claims add column claim_scopes json not null default '{}'`
)
