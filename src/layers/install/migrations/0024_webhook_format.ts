import { statements } from "./statements.ts"

/** The form of a webhook's bodies. */
export const webhookFormat = statements(
  `alter table svc.webhooks add column format text not null default 'svc' check (format in ('svc', 'supabase'))`
)
