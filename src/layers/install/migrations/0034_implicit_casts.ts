import { statements } from "./statements.ts"

/**
 * Casts to text what the trigger functions append to texts, and changes nothing else of them. `text || bigint` is
 * ambiguous in a database that has an implicit cast of bigint to text, as after a migration from Oracle.
 *
 * A login that does not inherit the privileges of their owner (layers/install/Roles.ts) can't replace the function of
 * the webhooks. That one appends JSON only.
 */
export const implicitCasts = statements(
  `do $do$
   declare
     found record;
   begin
     for found in
       select p.oid, t.before, t.after from pg_catalog.pg_proc p
         join (values
           ('notify_row_change', array['* 1000000)::bigint ||'], array['* 1000000)::bigint::text ||']),
           ('enqueue_webhooks', array['to_json(source_schema)', 'to_json(source_table)'],
             array['to_json(source_schema)::text', 'to_json(source_table)::text']),
           ('enqueue_identity_event', array['new.user_agent);', '|| subject,'], array['new.user_agent)::text;', '|| subject::text,'])
         ) t (name, before, after) on t.name = p.proname
       where p.pronamespace = 'svc'::regnamespace and pg_catalog.pg_has_role(p.proowner, 'usage')
     loop
       declare
         definition text := pg_catalog.pg_get_functiondef(found.oid);
       begin
         for i in 1 .. pg_catalog.cardinality(found.before) loop
           definition := pg_catalog.replace(definition, found.before[i], found.after[i]);
         end loop;
         execute definition;
       end;
     end loop;
   end $do$`
)
