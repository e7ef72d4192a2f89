import { statements } from "./statements.ts"

/** Mails are deleted with the account that they are about, and recovery messages are found by the account that they recover. */
export const accountTraces = statements(
  "alter table svc.mails add column identity_id uuid references svc.identities on delete cascade",
  "create index mails_identity on svc.mails (identity_id)",
  `create index identity_flows_ways on svc.identity_flows using gin ((data -> 'ways') jsonb_path_ops) where kind = 'recovery'`
)
