// The function of the user behind the provider framework of the CDK.
exports.handler = async function (event) {
  const { Mode, Size } = event.ResourceProperties;
  if (Mode === 'fail') throw new Error('failed on purpose');
  if (Mode === 'sleep') await new Promise((resolve) => setTimeout(resolve, 600000));
  return { PhysicalResourceId: 'framework-thing', Data: { Address: 'at-' + Size }, ReadyAt: Date.now() + 500 };
};
exports.isComplete = async function (event) {
  console.log('asked at', Date.now());
  return { IsComplete: event.ResourceProperties.Mode !== 'never' && Date.now() >= event.ReadyAt };
};
