import { api, unwrap } from '../../../api/client.ts'
import { signIn } from '../../../strings/sign-in.ts'
import { Button } from '../../../ui/button.tsx'
import { Field } from '../../../ui/field.tsx'
import { Input } from '../../../ui/input.tsx'
import { Form, Page } from '../../../ui/templates.tsx'
import { useDraft } from '../../../ui/use-draft.ts'
import { enterAt } from '../enter.ts'
import { useSubmit } from '../use-submit.ts'

const NewOrgPage = () => {
  const draft = useDraft('new-org', { name: '', slug: '' })
  const form = useSubmit()
  const { name, slug } = draft.value
  const send = () =>
    form.submit(async () => {
      await unwrap(api.POST('/api/internal/org', { body: { name, ...(slug !== '' && { slug }) } }))
      draft.forget()
      enterAt('/')
    })
  return (
    <Page title={signIn.newOrgTitle} description={signIn.newOrgHelp} width="form">
      <Form
        onSubmit={send}
        error={form.rest}
        actions={
          <Button type="submit" look="primary" busy={form.busy}>
            {signIn.createOrg}
          </Button>
        }
      >
        <Field label={signIn.orgName} help={signIn.orgHelp} error={form.fault('name')}>
          <Input name="name" value={name} onChange={(event) => draft.change({ name: event.target.value })} />
        </Field>
        <Field label={signIn.orgSlug} help={signIn.orgSlugHelp} error={form.fault('slug')}>
          <Input name="slug" value={slug} onChange={(event) => draft.change({ slug: event.target.value })} />
        </Field>
      </Form>
    </Page>
  )
}

export default NewOrgPage
