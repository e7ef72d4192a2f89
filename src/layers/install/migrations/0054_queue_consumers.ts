import { statements } from "./statements.ts"

/**
 * Functions that are called with the messages of queues. A queue is the one of that time: one that is dropped and created
 * again has no consumer.
 */
export const queueConsumers = statements(
  `create table svc.queue_consumers (
     queue text primary key,
     queue_created_at timestamptz not null,
     function text not null,
     batch integer not null,
     concurrency integer not null,
     visibility integer not null,
     grouped boolean not null,
     updated_at timestamptz not null default now()
   )`
)
