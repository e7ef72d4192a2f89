import { statements } from "./statements.ts"

/** Accounts of other providers with which people sign in: the issuer and its subject identify one for ever. */
export const identityLinks = statements(
  `create table svc.identity_links (
     issuer text not null,
     subject text not null,
     identity_id uuid not null references svc.identities on delete cascade,
     provider text not null,
     account text not null,
     added_at timestamptz not null default now(),
     last_used_at timestamptz,
     primary key (issuer, subject)
   )`,
  `create unique index identity_links_provider on svc.identity_links (identity_id, provider)`
)
