AWSTemplateFormatVersion: "2010-09-09"
Transform: AWS::Serverless-2016-10-31
Description: The handlers of {{.TypeName}} for tools that read SAM templates. cfn itself does not need it.

Globals:
  Function:
    Timeout: 180
    MemorySize: 512

Resources:
  TypeFunction:
    Type: AWS::Serverless::Function
    Properties:
      Handler: {{.Entrypoint}}
      Runtime: {{.Runtime}}
      CodeUri: ./target/{{.Artifact}}-1.0-SNAPSHOT.jar

  TestEntrypoint:
    Type: AWS::Serverless::Function
    Properties:
      Handler: {{.TestEntrypoint}}
      Runtime: {{.Runtime}}
      CodeUri: ./target/{{.Artifact}}-1.0-SNAPSHOT.jar
