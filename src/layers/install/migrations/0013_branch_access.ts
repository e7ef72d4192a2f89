import { statements } from "./statements.ts"

/** The callers that a branch serves. Branches made before are closed too, until an administrator opens them. */
export const branchAccess = statements(
  `alter table svc.branches add access text not null default 'service_role'
     check (access in ('service_role', 'clients'))`,
  `create or replace trigger notify_branches after insert or delete or update of status, expires_at, access on svc.branches
     for each row execute function svc.notify_branches()`
)
