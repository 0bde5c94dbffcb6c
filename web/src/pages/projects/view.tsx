import { projects } from '../../strings/projects.ts'
import { Page } from '../../ui/templates.tsx'
import { SenderList } from '../senders/sender-list.tsx'
import { projectKind } from './project-kind.tsx'

const ProjectsPage = () => (
  <Page title={projects.title} description={projects.help}>
    <SenderList kind={projectKind} />
  </Page>
)

export default ProjectsPage
